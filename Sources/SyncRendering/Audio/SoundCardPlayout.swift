public import MediaCore

/// Fills a sound card's buffer so that film moment M is heard at host instant H, as the timebase says.
///
/// Device-free: told at which instant the next device frame will be heard and how long a device frame lasts, it
/// places samples exactly, to the frame, and afterwards holds them there by reading the stream a few parts per
/// million faster or slower. It jumps only when it must (a new line, a hole in the film, an error above 20 ms) and
/// never with a click: what was playing fades out over what follows.
///
/// Used by one thread, the pump. `render` neither allocates nor locks.
public final class SoundCardPlayout {
    /// How edges are rounded.
    public struct Edges: Sendable {
        /// Sound that begins in the middle of something rises for this long.
        public var fadeIn: Duration = .milliseconds(2)
        /// Sound that stops falls for this long.
        public var fadeOut: Duration = .milliseconds(5)
        /// A change of gain takes this long.
        public var gain: Duration = .milliseconds(8)
        public init() {}
    }

    /// Frames that `render` makes at most at once.
    public static let maximumFrames = 2048
    /// Speeds further apart than this are different sounds, not drift.
    private static let speedTolerance = 0.02
    /// Holes and overlaps below this are smoothed away like drift.
    private static let seam = 0.001

    private let buffer: PlayoutBuffer
    private let timebase: Timebase
    private let events: EventLog
    private let id: OutputID
    private let resampler: DriftResampler
    private let channels: Int
    private let rate: Double
    private let history: Int64
    private let fadeInFrames: Int
    private let input: UnsafeMutablePointer<Float>
    private let inputCapacity: Int
    private let tail: UnsafeMutablePointer<Float>
    private let tailCapacity: Int
    private var tailLeft = 0
    private var gain: GainRamp

    /// Whether sound is being placed now.
    public private(set) var isPlaying = false
    /// Ring position of the next frame, while playing.
    private var position = 0.0
    private var step = 1.0
    private var piece = 0
    private var playingSince = HostInstant(nanoseconds: 0)
    private var playedFrames = 0
    /// Played seconds at the last steering.
    private var steeredAt = 0.0
    private var seenLiveFrom: Int64 = 0
    private var hasPlayed = false
    private var starvedAt: HostInstant?
    private var notedGeneration: UInt64?
    private var lastDriftNote = HostInstant(nanoseconds: 0)
    private var controller = DriftController()
    /// Where sound is against the timebase at the last look, positive when late.
    public private(set) var error: Duration = .zero
    /// The correction in force beyond the card's own rate, in parts per million.
    public var correctionPPM: Double { controller.correction * 1e6 }
    /// Times that the film's sound ran dry since creation.
    public private(set) var underrunCount = 0

    /// - Parameter history: how much rendered sound can be gone back to; at most what the buffer was made for.
    public init(
        buffer: PlayoutBuffer, timebase: Timebase, events: EventLog, id: OutputID, history: Duration,
        initialGain: Float = 1, edges: Edges = Edges(), resampler: DriftResampler = DriftResampler()
    ) {
        self.buffer = buffer
        self.timebase = timebase
        self.events = events
        self.id = id
        self.resampler = resampler
        channels = buffer.format.channels
        rate = Double(buffer.format.sampleRate)
        self.history = Int64(history.inSeconds * rate)
        fadeInFrames = Int(edges.fadeIn.inSeconds * rate)
        // Steps stay below 1.05: speed tolerance, card rate and correction together.
        inputCapacity = Self.maximumFrames * 21 / 20 + resampler.framesBefore + resampler.framesAfter + 2
        input = .allocate(capacity: inputCapacity * channels)
        input.initialize(repeating: 0, count: inputCapacity * channels)
        tailCapacity = min(Self.maximumFrames, Int(edges.fadeOut.inSeconds * rate))
        tail = .allocate(capacity: max(1, tailCapacity * channels))
        tail.initialize(repeating: 0, count: max(1, tailCapacity * channels))
        gain = GainRamp(gain: initialGain, length: Int(edges.gain.inSeconds * rate))
    }

    deinit {
        input.deallocate()
        tail.deallocate()
    }

    /// Frames that can be placed without running dry: when sound plays, what the feeder has delivered; otherwise
    /// as many as anybody likes, because they are silence.
    public var readyFrames: Int {
        guard isPlaying, !buffer.isFinished else { return .max }
        return frames(from: position, to: Double(usableEnd(of: buffer.endMark - 1)))
    }

    /// Fills `frames` (at most `maximumFrames`) interleaved frames.
    ///
    /// - Parameters:
    ///   - firstHeardAt: when the first of them reaches the ear.
    ///   - nanosecondsPerFrame: host time from one to the next; nominal, corrected by the card's measured rate.
    ///   - gain: loudness to be reached, 1 is unchanged.
    /// - Returns: whether anything but silence may be in it.
    @discardableResult
    public func render(
        into output: UnsafeMutablePointer<Float>, frames: Int, firstHeardAt: HostInstant,
        nanosecondsPerFrame: Double, gain target: Float
    ) -> Bool {
        let frames = min(frames, Self.maximumFrames)
        noticeFlush(at: firstHeardAt)
        let snapshot = timebase.snapshot
        var audible = isPlaying || tailLeft > 0
        var done = 0
        while done < frames {
            let heardAt = HostInstant(
                nanoseconds: firstHeardAt.nanoseconds + Int64((Double(done) * nanosecondsPerFrame).rounded()))
            let segment = snapshot.segment(at: heardAt)
            var limit = frames
            if let change = snapshot.scheduled?.hostAnchor, change > heardAt {
                let ahead = Double(change.nanoseconds - firstHeardAt.nanoseconds) / nanosecondsPerFrame
                if ahead < Double(frames) { limit = max(done + 1, Int(ahead.rounded(.up))) }
            }
            let out = output + done * channels
            if segment.rate == 0 {
                stop()
                noteStarved(until: heardAt)
                silence(out, frames: limit - done)
                done = limit
            } else {
                let made = run(
                    out, frames: limit - done, heardAt: heardAt, segment: segment,
                    nanosecondsPerFrame: nanosecondsPerFrame, generation: snapshot.generation)
                done += made
            }
            audible = audible || isPlaying
        }
        gain.apply(target, to: output, frames: frames, channels: channels)
        return audible
    }

    /// The last `frames` frames were taken back from the card and will be rendered again.
    public func rewound(frames: Int) {
        guard frames > 0 else { return }
        tailLeft = 0
        if isPlaying, playedFrames >= frames {
            position -= Double(frames) * step
            playedFrames -= frames
            while piece > buffer.firstMark, Double(buffer.mark(piece).position) > position { piece -= 1 }
        } else {
            isPlaying = false
        }
    }

    /// The card's queue is gone; what comes next is placed anew.
    public func interrupted() {
        isPlaying = false
        tailLeft = 0
    }

    /// Answers the feeder when it wants to take back the end of what was delivered; true when it had asked.
    public func decideCut() -> Bool {
        buffer.decideCut(rendered: isPlaying ? Int64(position.rounded(.up)) : nil)
    }

    // MARK: One stretch of one line

    private func run(
        _ output: UnsafeMutablePointer<Float>, frames: Int, heardAt: HostInstant, segment: TimebaseSegment,
        nanosecondsPerFrame: Double, generation: UInt64
    ) -> Int {
        let media = segment.mediaTime(at: heardAt).nanoseconds
        let perFrame = rate * nanosecondsPerFrame * 1e-9
        if isPlaying {
            crossSeams(media: media)
            if isPlaying { steer(media: media, rate: segment.rate, heardAt: heardAt) }
        }
        if !isPlaying {
            let wait = place(media: media, rate: segment.rate, perFrame: perFrame)
            guard wait == 0 else {
                let count = min(frames, wait)
                if hasPlayed, !buffer.isFinished, wait == .max, starvedAt == nil { starvedAt = heardAt }
                silence(output, frames: count)
                return count
            }
            playingSince = heardAt
            lastDriftNote = heardAt
            playedFrames = 0
            hasPlayed = true
            controller.reset()
            error = .zero
            noteStarved(until: heardAt)
            if notedGeneration != generation {
                notedGeneration = generation
                events.note(.audioHeard(media: MediaTime(nanoseconds: media), host: heardAt, output: id))
            }
        }
        step = segment.rate / buffer.mark(piece).speed * perFrame * (1 + controller.correction)
        // Less than a frame a day: take it as exactly one, and copy.
        if abs(step - 1) < 1e-10 { step = 1 }
        let count = min(frames, self.frames(from: position, to: Double(usableEnd(of: piece))))
        guard count > 0 else {
            // Ran dry, or the piece is at its end; the next turn sees which.
            let atSeam = piece + 1 < buffer.endMark
            if !atSeam { stop() } else { position = Double(buffer.mark(piece + 1).position) }
            if !atSeam, !buffer.isFinished { starvedAt = heardAt }
            return 0
        }
        read(into: output, frames: count, from: position)
        fadeIn(output, frames: count)
        mixTail(output, frames: count)
        position += Double(count) * step
        playedFrames += count
        release()
        return count
    }

    /// Output frames until the position reaches an end.
    private func frames(from position: Double, to end: Double) -> Int {
        max(0, Int(min(1e9, (end - position) / step).rounded(.up)))
    }

    /// Ring position up to which a piece can be read: to its end when that is known, otherwise as far as the
    /// resampler can see.
    private func usableEnd(of number: Int) -> Int64 {
        // The write position first: a mark is published before the frames that follow it.
        let write = buffer.writePosition
        if number + 1 < buffer.endMark { return buffer.mark(number + 1).position }
        return buffer.isFinished ? write : write - Int64(resampler.framesAfter)
    }

    /// Ring position of a film moment on the line of a mark.
    private func position(of media: Int64, on mark: PlayoutMark) -> Double {
        Double(mark.position) + Double(media - mark.mediaNanoseconds) * 1e-9 * rate / mark.speed
    }

    /// Goes on to the next pieces that have begun; a hole or an overlap stops the sound, so that it is placed anew.
    private func crossSeams(media: Int64) {
        while piece + 1 < buffer.endMark, Double(buffer.mark(piece + 1).position) <= position {
            piece += 1
            let away = abs(position(of: media, on: buffer.mark(piece)) - position)
            if away > Self.seam * rate {
                stop(before: buffer.mark(piece).position)
                return
            }
        }
    }

    /// Measures the error and corrects it, or gives up the place when it is too large.
    private func steer(media: Int64, rate lineRate: Double, heardAt: HostInstant) {
        let mark = buffer.mark(piece)
        guard abs(lineRate / mark.speed - 1) <= Self.speedTolerance else { return stop() }
        let late = (position(of: media, on: mark) - position) / rate
        error = .nanoseconds(Int64(max(-1e18, min(1e18, late * 1e9))))
        let age = heardAt - playingSince
        if DriftController.mustJump(error: error, age: age) { return stop() }
        let elapsed = Double(playedFrames) / rate
        _ = controller.update(
            error: error, age: age, elapsed: .nanoseconds(Int64((elapsed - steeredAt) * 1e9)))
        steeredAt = elapsed
        if heardAt - lastDriftNote >= .seconds(1) {
            lastDriftNote = heardAt
            events.note(.audioDrift(error: error, correctionPPM: correctionPPM, output: id))
        }
    }

    /// Finds the frame for a film moment and starts playing there: 0. Otherwise how many frames of silence come
    /// first; `Int.max` when nothing that fits is there.
    private func place(media: Int64, rate lineRate: Double, perFrame: Double) -> Int {
        let oldest = max(buffer.ring.readPosition, seenLiveFrom)
        var wait = Int.max
        var number = buffer.firstMark
        let end = buffer.endMark
        while number < end {
            let mark = buffer.mark(number)
            let pieceEnd = usableEnd(of: number)
            let first = max(mark.position, oldest)
            let ratio = lineRate / mark.speed
            if pieceEnd > first, abs(ratio - 1) <= Self.speedTolerance {
                let wanted = position(of: media, on: mark)
                if wanted < Double(pieceEnd) - 0.5 {
                    let ahead = (Double(first) - wanted) / (ratio * perFrame)
                    if ahead <= 0.5 {
                        piece = number
                        position = max(Double(first), wanted.rounded())
                        isPlaying = true
                        steeredAt = 0
                        return 0
                    }
                    wait = min(wait, ahead > 1e9 ? .max - 1 : Int(ahead.rounded()))
                }
            }
            number += 1
        }
        if wait == .max, end > buffer.firstMark {
            // All of it is past: make room for what is needed.
            let wanted = position(of: media, on: buffer.mark(end - 1))
            let last = usableEnd(of: end - 1)
            if wanted >= Double(last) - 0.5 {
                buffer.release(upTo: min(last, Int64(max(0, min(wanted, 9e18))) - history))
            }
        }
        return wait
    }

    // MARK: Samples

    /// Resamples frames from the ring, silence where it holds none.
    private func read(
        into output: UnsafeMutablePointer<Float>, frames: Int, from start: Double, before limit: Int64 = .max
    ) {
        let first = Int64(start.rounded(.down)) - Int64(resampler.framesBefore)
        let last = Int64((start + Double(frames - 1) * step).rounded(.down)) + Int64(resampler.framesAfter)
        let needed = min(inputCapacity, Int(last - first) + 1)
        let low = min(max(first, max(buffer.ring.readPosition, seenLiveFrom)), first + Int64(needed))
        let high = max(low, min(first + Int64(needed), buffer.writePosition, limit))
        let before = Int(low - first)
        let inside = Int(high - low)
        input.update(repeating: 0, count: before * channels)
        if inside > 0 { buffer.ring.copy(from: low, frames: inside, to: input + before * channels) }
        (input + (before + inside) * channels).update(repeating: 0, count: (needed - before - inside) * channels)
        resampler.render(
            input, channels: channels, position: start - Double(first), step: step, into: output, frames: frames)
    }

    private func fadeIn(_ output: UnsafeMutablePointer<Float>, frames: Int) {
        var frame = 0
        while frame < frames, playedFrames + frame < fadeInFrames {
            let weight = Float(playedFrames + frame + 1) / Float(fadeInFrames + 1)
            for channel in 0..<channels { output[frame * channels + channel] *= weight }
            frame += 1
        }
    }

    private func silence(_ output: UnsafeMutablePointer<Float>, frames: Int) {
        output.update(repeating: 0, count: frames * channels)
        mixTail(output, frames: frames)
    }

    private func mixTail(_ output: UnsafeMutablePointer<Float>, frames: Int) {
        guard tailLeft > 0 else { return }
        let count = min(frames, tailLeft)
        let from = tail + (tailCapacity - tailLeft) * channels
        for index in 0..<(count * channels) { output[index] += from[index] }
        tailLeft -= count
    }

    /// Stops placing sound; what would have come next, before a ring position, fades out over what does.
    private func stop(before limit: Int64 = .max) {
        guard isPlaying else { return }
        isPlaying = false
        let end = min(limit, buffer.writePosition)
        let count = min(tailCapacity, frames(from: position, to: Double(end)))
        guard count > 0 else { return }
        // The tail's last `count` frames, so that `mixTail` finds them at its end.
        let first = tail + (tailCapacity - count) * channels
        read(into: first, frames: count, from: position, before: limit)
        for frame in 0..<count {
            let weight = Float(count - frame) / Float(count + 1)
            for channel in 0..<channels { first[frame * channels + channel] *= weight }
        }
        tailLeft = count
    }

    // MARK: Bookkeeping

    private func noticeFlush(at heardAt: HostInstant) {
        let liveFrom = buffer.liveFrom
        guard liveFrom != seenLiveFrom else { return }
        stop(before: liveFrom)
        seenLiveFrom = liveFrom
        hasPlayed = false
        noteStarved(until: heardAt)
        buffer.release(upTo: liveFrom)
    }

    private func noteStarved(until heardAt: HostInstant) {
        guard let since = starvedAt else { return }
        starvedAt = nil
        guard heardAt > since else { return }
        underrunCount += 1
        events.note(.underrun(missing: heardAt - since, output: id))
    }

    private func release() {
        buffer.release(upTo: min(Int64(position), buffer.writePosition) - history)
    }
}
