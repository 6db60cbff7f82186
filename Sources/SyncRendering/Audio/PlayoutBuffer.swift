public import MediaCore
internal import Synchronization

/// From one ring position on, frames carry these film times.
///
/// Frame `p` of the piece is film moment `media + (p − position) / sampleRate × speed`.
public struct PlayoutMark: Sendable, BitwiseCopyable {
    /// Ring position of the piece's first frame.
    public var position: Int64
    /// Film time of that frame, in nanoseconds.
    public var mediaNanoseconds: Int64
    /// Film seconds per second of sound: what the samples were stretched for.
    public var speed: Double
}

/// Decoded sound on its way to a sound card, between the feeder and the pump: a ring of frames, and a ring of marks
/// that gives every frame its film time. Wait-free on both ends.
///
/// The pump keeps some of what it has played (`history`), so that a pause can go back to the frame that was heard.
/// A flush moves one number, `liveFrom`; the pump recognises older frames by it and skips them.
///
/// `@unchecked Sendable`: the feeder alone touches the fields marked "feeder"; marks are published by a release of
/// `markTail` and given back by a release of `markHead`; the rest are atomics.
public final class PlayoutBuffer: @unchecked Sendable {
    public let format: PCMFormat
    let ring: FrameRing
    private let marks: UnsafeMutablePointer<PlayoutMark>
    private static let markCapacity = 256
    private let markHead = Atomic<Int>(0)
    let markTail = Atomic<Int>(0)
    private let liveFromCell = Atomic<Int64>(0)
    let finishedCell = Atomic<Bool>(false)
    let accepted = SeqLock(AcceptedUntil(time: .zero, isKnown: false))

    /// What the feeder asks the pump when the end of what is inside is to go.
    let cut = PlayoutCut()

    // Feeder: the piece being written.
    var lineStart: MediaTime = .zero
    var linePosition: Int64 = 0
    var lineSpeed: Double = 1
    var hasLine = false
    /// A cut was asked for that nobody wants any more.
    var isCutAbandoned = false

    struct AcceptedUntil: Sendable, BitwiseCopyable {
        var time: MediaTime
        var isKnown: Bool
    }

    /// - Parameters:
    ///   - depth: how much sound fits that is not yet rendered.
    ///   - history: how much rendered sound is kept for going back.
    public init(format: PCMFormat, depth: Duration, history: Duration) {
        self.format = format
        let frames = (depth + history).inSeconds * Double(format.sampleRate)
        ring = FrameRing(channels: format.channels, minimumFrames: max(256, Int(frames.rounded(.up))))
        marks = .allocate(capacity: Self.markCapacity)
        marks.initialize(repeating: PlayoutMark(position: 0, mediaNanoseconds: 0, speed: 1), count: Self.markCapacity)
    }

    deinit { marks.deallocate() }

    // MARK: Feeder

    /// Takes frames of a block from `offset` on and returns how many. Wait-free; feeder only.
    ///
    /// A block whose start lies within half a frame of where the previous one ended continues its line, so that
    /// rounded times do not accumulate; any other begins a new piece.
    public func accept(_ block: PCMBlock, from offset: Int) -> Int {
        let count = block.frames - max(0, offset)
        guard count > 0, block.format == format, !isCutAbandoned || forgetCut() else { return 0 }
        let rate = Double(format.sampleRate)
        let start = time(of: block, at: max(0, offset))
        let write = ring.writePosition
        var needsMark = true
        if hasLine, block.speed == lineSpeed {
            let expected = lineStart + duration(ofFrames: write - linePosition, speed: lineSpeed)
            needsMark = abs((start - expected).seconds) * rate / lineSpeed > 0.5
        }
        if needsMark {
            guard ring.free > 0, pushMark(position: write, start: start, speed: block.speed) else { return 0 }
            (lineStart, linePosition, lineSpeed, hasLine) = (start, write, block.speed, true)
        }
        let taken = ring.write(block.samples + max(0, offset) * format.channels, frames: count)
        if taken > 0 {
            finishedCell.store(false, ordering: .releasing)
            let end = lineStart + duration(ofFrames: write + Int64(taken) - linePosition, speed: lineSpeed)
            accepted.store(AcceptedUntil(time: end, isKnown: true))
        }
        return taken
    }

    /// What is inside is the end: running dry is no underrun. Cleared by the next `accept`. Feeder only.
    public func finish() { finishedCell.store(true, ordering: .releasing) }

    /// Drops everything accepted so far. Wait-free; feeder only. The room comes back when the pump has noticed.
    public func flush() {
        hasLine = false
        isCutAbandoned = !cut.isIdle
        accepted.store(AcceptedUntil(time: .zero, isKnown: false))
        finishedCell.store(false, ordering: .releasing)
        liveFromCell.store(ring.writePosition, ordering: .releasing)
    }

    /// Film time just after the last frame accepted since the last flush. Any thread; lock-free.
    public var acceptedUntil: MediaTime? {
        let value = accepted.load()
        return value.isKnown ? value.time : nil
    }

    /// Frames that can be accepted now. Any thread.
    public var free: Int { ring.free }

    private func time(of block: PCMBlock, at offset: Int) -> MediaTime {
        offset == 0 ? block.start : block.start + duration(ofFrames: Int64(offset), speed: block.speed)
    }

    func duration(ofFrames frames: Int64, speed: Double) -> MediaTime {
        speed == 1
            ? MediaTime(value: frames, timescale: Int32(clamping: format.sampleRate))
            : MediaTime(seconds: Double(frames) / Double(format.sampleRate) * speed)
    }

    private func pushMark(position: Int64, start: MediaTime, speed: Double) -> Bool {
        let tail = markTail.load(ordering: .relaxed)
        guard tail - markHead.load(ordering: .acquiring) < Self.markCapacity else { return false }
        let safeSpeed = speed.isFinite && speed > 0 ? speed : 1
        marks[tail % Self.markCapacity] = PlayoutMark(
            position: position, mediaNanoseconds: start.nanoseconds, speed: safeSpeed)
        markTail.store(tail + 1, ordering: .releasing)
        return true
    }

    // MARK: Pump

    /// Frames before this position were flushed away.
    var liveFrom: Int64 { liveFromCell.load(ordering: .acquiring) }
    /// No more frames follow what is inside.
    var isFinished: Bool { finishedCell.load(ordering: .acquiring) }
    /// Numbers of the marks that can be read: `firstMark ..< endMark`.
    var firstMark: Int { markHead.load(ordering: .relaxed) }
    var endMark: Int {
        // The limit first: when it is gone, the count that follows is the one after the cut.
        let limit = cut.markLimit
        return min(limit, markTail.load(ordering: .acquiring))
    }
    /// Just behind the last frame that can be read.
    var writePosition: Int64 {
        let limit = cut.frameLimit
        return min(limit, ring.writePosition)
    }

    func mark(_ number: Int) -> PlayoutMark { marks[number % Self.markCapacity] }

    /// Answers a feeder that wants to take back what lies beyond a position; true when there was a question.
    ///
    /// - Parameter rendered: just behind the last frame that was read, while sound plays.
    func decideCut(rendered: Int64?) -> Bool {
        cut.decide(rendered: rendered) { position in
            var end = markTail.load(ordering: .acquiring)
            while end > firstMark, mark(end - 1).position >= position { end -= 1 }
            return end
        }
    }

    /// Gives frames before a position back to the feeder, and the marks that only they needed.
    func release(upTo position: Int64) {
        ring.consume(upTo: position)
        let end = endMark
        var head = firstMark
        // A mark is needed until the next one begins at or before the oldest frame kept.
        while head + 1 < end, mark(head + 1).position <= position { head += 1 }
        markHead.store(head, ordering: .releasing)
    }
}
