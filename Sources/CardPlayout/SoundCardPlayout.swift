package import MediaCore
package import SyncRendering

/// Fills a sound card's buffer so that media time M is audible at host instant H, as the timebase requires.
///
/// Independent of the device: the caller passes when the next device frame will be audible and the duration of a device
/// frame. Audio is placed to the frame and then held in place by resampling within a few parts per million. It jumps
/// only when required: on a new timeline segment, at a gap in the media, or at an error above 20 ms. A jump crossfades,
/// so that it does not click.
///
/// Confined to one thread, the pump's. `render` neither allocates nor locks.
package final class SoundCardPlayout {
    /// The durations of fades.
    package struct Edges: Sendable {
        /// The fade-in of audio that starts within the media.
        package var fadeIn: Duration = .milliseconds(2)
        /// The fade-out of audio that stops.
        package var fadeOut: Duration = .milliseconds(5)
        /// The duration of a change of gain.
        var gain: Duration = .milliseconds(8)
        /// Creates the default durations.
        package init() {}
    }

    /// The maximum number of frames per call of `render`.
    package static let maximumFrames = 2048
    /// A larger difference between rate and stretched speed, as a ratio, is other audio, not drift.
    private static let speedTolerance = 0.02
    /// Gaps and overlaps below this, in seconds, are smoothed like drift.
    private static let seam = 0.001

    private let buffer: PlayoutBuffer
    private let timebase: Timebase
    private let events: EventLog
    private let id: OutputID
    private let resampler: DriftResampler
    private let channels: Int
    private let rate: Double
    /// The number of rendered frames to retain in the buffer.
    private let history: Int64
    private let fadeInFrames: Int
    /// Scratch memory for the resampler's input.
    private let input: UnsafeMutablePointer<Float>
    private let inputCapacity: Int
    /// The faded end of stopped audio; its last `tailLeft` frames are still to be mixed.
    private let tail: UnsafeMutablePointer<Float>
    private let tailCapacity: Int
    private var tailLeft = 0
    private var gain: GainRamp

    /// Whether audio is being placed.
    private(set) var isPlaying = false
    /// The ring position of the next frame while playing.
    private var position = 0.0
    /// Ring frames per output frame.
    private var step = 1.0
    /// The number of the mark of the current segment.
    private var piece = 0
    /// When the current audio started to be audible.
    private var playingSince = HostInstant(nanoseconds: 0)
    /// Whether the device's stream has been moved since the last frame.
    private var isMoved = false
    /// Frames played since `playingSince`.
    private var playedFrames = 0
    /// Played seconds at the last correction.
    private var steeredAt = 0.0
    /// The buffer's `liveFrom` at the last call of `render`.
    private var seenLiveFrom: Int64 = 0
    /// Whether audio was played since the last flush.
    private var hasPlayed = false
    /// When the audio ran dry; nil otherwise.
    private var starvedAt: HostInstant?
    /// The generation of the timebase of the last logged `audioHeard`.
    private var notedGeneration: UInt64?
    private var lastDriftNote = HostInstant(nanoseconds: 0)
    private var controller = DriftController()
    /// The offset of the audio from the timebase at the last measurement, positive when late.
    private(set) var error: Duration = .zero
    /// The current correction beyond the card's own rate, in parts per million.
    var correctionPPM: Double { controller.correction * 1e6 }
    /// The number of underruns of the media's audio since creation.
    package private(set) var underrunCount = 0

    /// Creates a playout.
    ///
    /// - Parameter history: The amount of rendered audio that can be rewound; at most the `history` of the buffer.
    package init(
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
        // Steps stay below 1.05: the sum of speed tolerance, card rate and correction.
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

    /// The number of frames that can be placed without an underrun: the delivered audio while playing, otherwise
    /// unlimited silence.
    var readyFrames: Int {
        guard isPlaying, !buffer.isFinished else { return .max }
        return frames(from: position, to: Double(usableEnd(of: buffer.endMark - 1)))
    }

    /// Renders `frames` (at most `maximumFrames`) interleaved frames. Neither allocates nor locks.
    ///
    /// - Parameters:
    ///   - firstAudibleAt: When the first frame is audible.
    ///   - nanosecondsPerFrame: Host nanoseconds per frame: nominal, corrected by the card's measured rate.
    ///   - gain: The target gain as a linear factor; 1 is unchanged.
    /// - Returns: Whether the output may contain anything but silence.
    @discardableResult
    package func render(
        into output: UnsafeMutablePointer<Float>, frames: Int, firstAudibleAt: HostInstant,
        nanosecondsPerFrame: Double, gain target: Float
    ) -> Bool {
        let frames = min(frames, Self.maximumFrames)
        noticeFlush(at: firstAudibleAt)
        let snapshot = timebase.snapshot
        var audible = isPlaying || tailLeft > 0
        var done = 0
        while done < frames {
            let audibleAt = HostInstant(
                nanoseconds: firstAudibleAt.nanoseconds + Int64((Double(done) * nanosecondsPerFrame).rounded()))
            let segment = snapshot.segment(at: audibleAt)
            var limit = frames
            if let change = snapshot.scheduled?.hostAnchor, change > audibleAt {
                let ahead = Double(change.nanoseconds - firstAudibleAt.nanoseconds) / nanosecondsPerFrame
                if ahead < Double(frames) { limit = max(done + 1, Int(ahead.rounded(.up))) }
            }
            let out = output + done * channels
            if segment.rate == 0 {
                stop()
                logUnderrunEnd(until: audibleAt)
                silence(out, frames: limit - done)
                done = limit
            } else {
                let made = run(
                    out, frames: limit - done, audibleAt: audibleAt, segment: segment,
                    nanosecondsPerFrame: nanosecondsPerFrame, generation: snapshot.generation)
                done += made
            }
            audible = audible || isPlaying
        }
        gain.apply(target, to: output, frames: frames, channels: channels)
        return audible
    }

    /// Moves back by frames that were rewound from the card and will be rendered again.
    func rewound(frames: Int) {
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

    /// Stops the current audio after the card's queue was discarded; the next audio is placed again.
    func interrupted() {
        isPlaying = false
        tailLeft = 0
    }

    /// Corrects the next errors as those of a start: the device's stream was moved to another sink.
    func moved() { isMoved = true }

    /// Decides a pending cut of the feeder; returns true if there was one.
    func decideCut() -> Bool {
        buffer.decideCut(rendered: isPlaying ? Int64(position.rounded(.up)) : nil)
    }

    // MARK: Rendering within one timebase segment

    /// Renders up to `frames` frames within a timebase segment; returns their number. 0: the segment of the buffer
    /// ended, call again.
    private func run(
        _ output: UnsafeMutablePointer<Float>, frames: Int, audibleAt: HostInstant, segment: TimebaseSegment,
        nanosecondsPerFrame: Double, generation: UInt64
    ) -> Int {
        let media = segment.mediaTime(at: audibleAt).nanoseconds
        let perFrame = rate * nanosecondsPerFrame * 1e-9
        if isPlaying {
            crossSeams(media: media)
            if isPlaying { steer(media: media, rate: segment.rate, audibleAt: audibleAt) }
        }
        if !isPlaying {
            let wait = begin(media: media, rate: segment.rate, perFrame: perFrame)
            guard wait == 0 else {
                let count = min(frames, wait)
                if hasPlayed, !buffer.isFinished, wait == .max, starvedAt == nil { starvedAt = audibleAt }
                silence(output, frames: count)
                return count
            }
            playingSince = audibleAt
            lastDriftNote = audibleAt
            playedFrames = 0
            hasPlayed = true
            controller.reset()
            error = .zero
            logUnderrunEnd(until: audibleAt)
            if notedGeneration != generation {
                notedGeneration = generation
                events.append(.audioHeard(media: MediaTime(nanoseconds: media), host: audibleAt, output: id))
            }
        }
        step = segment.rate / buffer.mark(piece).speed * perFrame * (1 + controller.correction)
        // Less than a frame a day: round to one and copy.
        if abs(step - 1) < 1e-10 { step = 1 }
        let count = min(frames, self.frames(from: position, to: Double(usableEnd(of: piece))))
        guard count > 0 else {
            // The audio ran dry or the buffer's segment ended; the next iteration distinguishes them.
            let atSeam = piece + 1 < buffer.endMark
            if !atSeam { stop() } else { position = Double(buffer.mark(piece + 1).position) }
            if !atSeam, !buffer.isFinished { starvedAt = audibleAt }
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

    /// Returns the number of output frames from a position to an end.
    private func frames(from position: Double, to end: Double) -> Int {
        max(0, Int(min(1e9, (end - position) / step).rounded(.up)))
    }

    /// Returns the ring position up to which a segment can be read: its end if known, otherwise the limit of the
    /// resampler's look-ahead.
    private func usableEnd(of number: Int) -> Int64 {
        // Read before the marks: a mark is published before its frames.
        let write = buffer.writePosition
        if number + 1 < buffer.endMark { return buffer.mark(number + 1).position }
        return buffer.isFinished ? write : write - Int64(resampler.framesAfter)
    }

    /// Returns the ring position of a media time in the segment of a mark.
    private func position(of media: Int64, on mark: PlayoutMark) -> Double {
        Double(mark.position) + Double(media - mark.mediaNanoseconds) * 1e-9 * rate / mark.speed
    }

    /// Advances to the segments that have started. At a gap or an overlap the audio stops and is placed again.
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

    /// Measures the error and corrects it; stops the audio if the error is too large.
    private func steer(media: Int64, rate lineRate: Double, audibleAt: HostInstant) {
        let mark = buffer.mark(piece)
        guard abs(lineRate / mark.speed - 1) <= Self.speedTolerance else { return stop() }
        let late = (position(of: media, on: mark) - position) / rate
        error = .nanoseconds(Int64(max(-1e18, min(1e18, late * 1e9))))
        if isMoved { (isMoved, playingSince) = (false, audibleAt) }
        let age = audibleAt - playingSince
        if DriftController.mustJump(error: error, age: age) { return stop() }
        let elapsed = Double(playedFrames) / rate
        _ = controller.update(
            error: error, age: age, elapsed: .nanoseconds(Int64((elapsed - steeredAt) * 1e9)))
        steeredAt = elapsed
        if audibleAt - lastDriftNote >= .seconds(1) {
            lastDriftNote = audibleAt
            events.append(.audioDrift(error: error, correctionPPM: correctionPPM, output: id))
        }
    }

    /// Starts playing at the frame of a media time and returns 0. Otherwise returns the number of silent frames that
    /// come first; `Int.max` if no matching audio is available.
    private func begin(media: Int64, rate lineRate: Double, perFrame: Double) -> Int {
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
                        isMoved = false
                        steeredAt = 0
                        return 0
                    }
                    wait = min(wait, ahead > 1e9 ? .max - 1 : Int(ahead.rounded()))
                }
            }
            number += 1
        }
        if wait == .max, end > buffer.firstMark {
            // All audio is past: free its space.
            let wanted = position(of: media, on: buffer.mark(end - 1))
            let last = usableEnd(of: end - 1)
            if wanted >= Double(last) - 0.5 {
                buffer.release(upTo: min(last, Int64(max(0, min(wanted, 9e18))) - history))
            }
        }
        return wait
    }

    // MARK: Samples

    /// Resamples frames from the ring, with silence where it holds none.
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

    /// Applies the fade-in to the first frames of the current audio.
    private func fadeIn(_ output: UnsafeMutablePointer<Float>, frames: Int) {
        var frame = 0
        while frame < frames, playedFrames + frame < fadeInFrames {
            let weight = Float(playedFrames + frame + 1) / Float(fadeInFrames + 1)
            for channel in 0..<channels { output[frame * channels + channel] *= weight }
            frame += 1
        }
    }

    /// Writes silence with the fade-out mixed in.
    private func silence(_ output: UnsafeMutablePointer<Float>, frames: Int) {
        output.update(repeating: 0, count: frames * channels)
        mixTail(output, frames: frames)
    }

    /// Mixes the remaining fade-out into frames.
    private func mixTail(_ output: UnsafeMutablePointer<Float>, frames: Int) {
        guard tailLeft > 0 else { return }
        let count = min(frames, tailLeft)
        let from = tail + (tailCapacity - tailLeft) * channels
        for index in 0..<(count * channels) { output[index] += from[index] }
        tailLeft -= count
    }

    /// Stops the audio. Its continuation before a ring position becomes the fade-out.
    private func stop(before limit: Int64 = .max) {
        guard isPlaying else { return }
        isPlaying = false
        let end = min(limit, buffer.writePosition)
        let count = min(tailCapacity, frames(from: position, to: Double(end)))
        guard count > 0 else { return }
        // Stored at the end of the tail, where `mixTail` reads.
        let first = tail + (tailCapacity - count) * channels
        read(into: first, frames: count, from: position, before: limit)
        for frame in 0..<count {
            let weight = Float(count - frame) / Float(count + 1)
            for channel in 0..<channels { first[frame * channels + channel] *= weight }
        }
        tailLeft = count
    }

    // MARK: Bookkeeping

    /// Stops the audio and frees its frames after a flush.
    private func noticeFlush(at audibleAt: HostInstant) {
        let liveFrom = buffer.liveFrom
        guard liveFrom != seenLiveFrom else { return }
        stop(before: liveFrom)
        seenLiveFrom = liveFrom
        hasPlayed = false
        logUnderrunEnd(until: audibleAt)
        buffer.release(upTo: liveFrom)
    }

    /// Logs the end of an underrun.
    private func logUnderrunEnd(until audibleAt: HostInstant) {
        guard let since = starvedAt else { return }
        starvedAt = nil
        guard audibleAt > since else { return }
        underrunCount += 1
        events.append(.underrun(missing: audibleAt - since, output: id))
    }

    private func release() {
        buffer.release(upTo: min(Int64(position), buffer.writePosition) - history)
    }
}
