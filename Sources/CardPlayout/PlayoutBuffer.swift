package import MediaCore
internal import Synchronization

/// The media time of the frames from a ring position on.
///
/// Frame `p` of the segment has media time `media + (p − position) / sampleRate × speed`.
struct PlayoutMark: Sendable, BitwiseCopyable {
    /// The ring position of the segment's first frame.
    var position: Int64
    /// The media time of that frame in nanoseconds.
    var mediaNanoseconds: Int64
    /// Media seconds per second of audio, by which the samples were time-stretched.
    var speed: Double
}

/// PCM between the feeder and the pump of a sound card: a ring of frames, and a ring of marks that maps each frame to
/// its media time. Wait-free on both sides.
///
/// The pump retains part of the played audio (`history`), so that a pause can return to the audible frame. A flush only
/// moves `liveFrom`; the pump skips the frames before it.
///
/// `@unchecked Sendable`: the fields marked "Feeder" are confined to the feeder thread. Marks are published by a
/// release store to `markTail` and freed by a release store to `markHead`. All other fields are atomic.
package final class PlayoutBuffer: @unchecked Sendable {
    /// The format of the frames.
    let format: PCMFormat
    let ring: FrameRing
    /// The feeder writes free slots, the pump reads those from `markHead` to `markTail`.
    private let marks: UnsafeMutablePointer<PlayoutMark>
    private static let markCapacity = 256
    /// The number of the oldest mark in use. Stored with release by the pump, loaded by the feeder.
    private let markHead = Atomic<Int>(0)
    /// The number after the newest mark. Stored with release by the feeder, loaded by the pump.
    let markTail = Atomic<Int>(0)
    /// Stored with release by the feeder on a flush, loaded by the pump.
    private let liveFromCell = Atomic<Int64>(0)
    /// Stored with release by the feeder, loaded by the pump.
    let finishedCell = Atomic<Bool>(false)
    /// Stored by the feeder, loaded by any thread.
    let accepted = SeqLock(AcceptedUntil(time: .zero, isKnown: false))

    /// The protocol by which the feeder removes the end of the audio.
    let cut = PlayoutCut()

    // Feeder: the segment being written.
    var segmentStart: MediaTime = .zero
    var segmentPosition: Int64 = 0
    var segmentSpeed: Double = 1
    var hasSegment = false
    /// Feeder: whether a cut was requested that a flush has superseded.
    var isCutAbandoned = false

    /// The end of the accepted audio; unknown after a flush.
    struct AcceptedUntil: Sendable, BitwiseCopyable {
        var time: MediaTime
        var isKnown: Bool
    }

    /// Creates a buffer.
    ///
    /// - Parameters:
    ///   - depth: The capacity for audio that is not yet rendered.
    ///   - history: The amount of rendered audio that is retained.
    package init(format: PCMFormat, depth: Duration, history: Duration) {
        self.format = format
        let frames = (depth + history).inSeconds * Double(format.sampleRate)
        ring = FrameRing(channels: format.channels, minimumFrames: max(256, Int(frames.rounded(.up))))
        marks = .allocate(capacity: Self.markCapacity)
        marks.initialize(repeating: PlayoutMark(position: 0, mediaNanoseconds: 0, speed: 1), count: Self.markCapacity)
    }

    deinit { marks.deallocate() }

    // MARK: Feeder

    /// Copies frames of a block from `offset` on; returns their number, which is less if space runs out. Wait-free;
    /// feeder only.
    ///
    /// A block that starts within half a frame of the previous end continues its segment, so that rounding errors do
    /// not accumulate. Any other block starts a new segment.
    package func accept(_ block: PCMBlock, from offset: Int) -> Int {
        let count = block.frames - max(0, offset)
        guard count > 0, block.format == format, !isCutAbandoned || forgetCut() else { return 0 }
        let rate = Double(format.sampleRate)
        let start = time(of: block, at: max(0, offset))
        let write = ring.writePosition
        var needsMark = true
        if hasSegment, block.speed == segmentSpeed {
            let expected = segmentStart + duration(ofFrames: write - segmentPosition, speed: segmentSpeed)
            needsMark = abs((start - expected).seconds) * rate / segmentSpeed > 0.5
        }
        if needsMark {
            guard ring.free > 0, pushMark(position: write, start: start, speed: block.speed) else { return 0 }
            (segmentStart, segmentPosition, segmentSpeed, hasSegment) = (start, write, block.speed, true)
        }
        let taken = ring.write(block.samples + max(0, offset) * format.channels, frames: count)
        if taken > 0 {
            finishedCell.store(false, ordering: .releasing)
            let end = segmentStart + duration(ofFrames: write + Int64(taken) - segmentPosition, speed: segmentSpeed)
            accepted.store(AcceptedUntil(time: end, isKnown: true))
        }
        return taken
    }

    /// Marks the end of input: an empty buffer is then no underrun. Reset by the next `accept`. Feeder only.
    package func finish() { finishedCell.store(true, ordering: .releasing) }

    /// Drops all accepted audio. Wait-free; feeder only. The space becomes available once the pump has noticed the
    /// flush.
    package func flush() {
        hasSegment = false
        isCutAbandoned = !cut.isIdle
        accepted.store(AcceptedUntil(time: .zero, isKnown: false))
        finishedCell.store(false, ordering: .releasing)
        liveFromCell.store(ring.writePosition, ordering: .releasing)
    }

    /// The media time at the end of the audio accepted since the last flush; nil if there is none. Any thread;
    /// lock-free.
    package var acceptedUntil: MediaTime? {
        let value = accepted.load()
        return value.isKnown ? value.time : nil
    }

    /// The number of frames of free space. Any thread.
    var free: Int { ring.free }

    /// Returns the media time of a frame of a block.
    private func time(of block: PCMBlock, at offset: Int) -> MediaTime {
        offset == 0 ? block.start : block.start + duration(ofFrames: Int64(offset), speed: block.speed)
    }

    /// Returns the media duration of frames at a speed.
    func duration(ofFrames frames: Int64, speed: Double) -> MediaTime {
        speed == 1
            ? MediaTime(value: frames, timescale: Int32(clamping: format.sampleRate))
            : MediaTime(seconds: Double(frames) / Double(format.sampleRate) * speed)
    }

    /// Appends a mark; returns false if the ring of marks is full.
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

    /// Frames before this position have been flushed.
    var liveFrom: Int64 { liveFromCell.load(ordering: .acquiring) }
    /// Whether no more frames follow.
    var isFinished: Bool { finishedCell.load(ordering: .acquiring) }
    /// The numbers of the readable marks: `firstMark ..< endMark`.
    var firstMark: Int { markHead.load(ordering: .relaxed) }
    var endMark: Int {
        // Read before the tail: once the limit is lifted, the tail already reflects the cut.
        let limit = cut.markLimit
        return min(limit, markTail.load(ordering: .acquiring))
    }
    /// The position after the last readable frame.
    var writePosition: Int64 {
        let limit = cut.frameLimit
        return min(limit, ring.writePosition)
    }

    /// Returns the mark with a number in `firstMark ..< endMark`.
    func mark(_ number: Int) -> PlayoutMark { marks[number % Self.markCapacity] }

    /// Decides a pending cut of the feeder; returns true if there was one.
    ///
    /// - Parameter rendered: The position after the last rendered frame; nil while no audio plays.
    func decideCut(rendered: Int64?) -> Bool {
        cut.decide(rendered: rendered) { position in
            var end = markTail.load(ordering: .acquiring)
            while end > firstMark, mark(end - 1).position >= position { end -= 1 }
            return end
        }
    }

    /// Frees the frames before a position, and the marks that only they use.
    func release(upTo position: Int64) {
        ring.consume(upTo: position)
        let end = endMark
        var head = firstMark
        // A mark is in use until the next one starts at or before the oldest retained frame.
        while head + 1 < end, mark(head + 1).position <= position { head += 1 }
        markHead.store(head, ordering: .releasing)
    }
}
