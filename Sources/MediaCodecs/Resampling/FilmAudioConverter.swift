internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// Decodes, trims, mixes and resamples audio into blocks with exact frame times. Owned and called by one thread.
///
/// Gaps up to two seconds become silence, overlaps are dropped, longer jumps begin a new block. At a gapless boundary
/// with the same rate the audio passes one filter. At a change of rate each side is cut to its frames on a common grid,
/// without missing or repeated frames.
final class FilmAudioConverter: PCMConverter {
    private let decoder: AudioDecoder
    private let resampler: Resampler
    private var timeline: AudioTimeline?
    /// Media time of the first frame since the last discontinuity, and the number of frames returned since.
    private var grid: (start: MediaTime, given: Int64) = (.zero, 0)
    /// The end of the timeline being drained, in grid frames.
    private var timelineEnd: Int64 = 0
    private var pending: AudioDecoder.Output?
    private var isDraining = false
    /// Whether the next audio continues the timeline being drained, at another rate.
    private var isGaplessBoundary = false
    /// Whether the next audio does not continue it.
    private var isBroken = false
    private var isFinished = false
    private var lastEnd: MediaTime?
    private let output: PCMFormat

    init(from format: AudioFormat, to output: PCMFormat) throws(MediaError) {
        decoder = try AudioDecoder(format)
        resampler = Resampler(output: output)
        self.output = output
    }

    var decodeErrorCount: Int { decoder.decodeErrorCount }
    func consumeUndecodableAudio() -> UndecodableAudio? { decoder.undecodable.take() }

    func send(_ buffer: SampleBuffer) throws(MediaError) {
        isFinished = false
        decoder.send(buffer)
    }

    func adopt(_ format: AudioFormat) throws(MediaError) -> Bool {
        try decoder.prepare(for: format)
        return true
    }

    func setDialogueLift(_ decibels: Double) { resampler.dialogueLift = decibels }

    func finish() {
        isFinished = true
        decoder.finish()
    }

    func reset() {
        decoder.reset()
        timeline = nil
        pending = nil
        lastEnd = nil
        (isDraining, isFinished, isBroken, isGaplessBoundary) = (false, false, false, false)
    }

    func receive(into block: PCMBlock) throws(MediaError) -> Bool {
        block.frames = 0
        block.speed = 1
        while block.frames < block.capacity {
            if isDraining {
                if drain(into: block) { continue }
                endTimeline()
                if block.frames > 0 { return true }
            }
            if timeline != nil, appendOutput(into: block, { resampler.pull(into: $0, room: $1) }) { continue }
            if pending == nil { pending = try decoder.next() }
            if pending != nil {
                try insertPending(into: block)
            } else if isFinished, timeline != nil {
                beginDraining()
            } else {
                break
            }
        }
        return block.frames > 0
    }

    /// Appends the output of `body` to the block. Returns false if there was none.
    private func appendOutput(into block: PCMBlock, _ body: (UnsafeMutablePointer<Float>, Int) -> Int) -> Bool {
        let room = block.capacity - block.frames
        let got = body(block.samples + block.frames * output.channels, room)
        guard got > 0 else { return false }
        if block.frames == 0 { block.start = gridTime(grid.given) }
        block.frames += got
        grid.given += Int64(got)
        return true
    }

    private func gridTime(_ frames: Int64) -> MediaTime {
        grid.start + MediaTime(value: frames, timescale: Int32(clamping: output.sampleRate))
    }

    /// Returns the frames from the grid's start to a media time.
    private func gridFrames(to time: MediaTime) -> Int64 {
        (time - grid.start).rescaled(to: Int32(clamping: output.sampleRate))
    }

    private func beginDraining() {
        isDraining = true
        timelineEnd = timeline.map { gridFrames(to: $0.end) } ?? grid.given
    }

    /// Returns the rest of a timeline to the exact frame: a filter's output length differs slightly from its input.
    private func drain(into block: PCMBlock) -> Bool {
        let left = Int(clamping: timelineEnd - grid.given)
        guard left > 0 else { return false }
        return appendOutput(into: block) { target, room in
            let wanted = min(room, left)
            var got = isGaplessBoundary ? resampler.pull(into: target, room: wanted) : 0
            if got == 0 { got = resampler.drain(into: target, room: wanted) }
            guard got == 0, left <= Self.maxPadding else { return got }
            target.update(repeating: 0, count: wanted * output.channels)
            return wanted
        }
    }

    /// Maximum number of frames that rounding can leave missing at the end.
    private static let maxPadding = 2

    private func endTimeline() {
        lastEnd = timeline?.end
        timeline = nil
        (isDraining, isGaplessBoundary) = (false, false)
    }

    /// Starts counting at a media time; on the same grid if it continues the previous audio.
    private func beginTimeline(at start: MediaTime, rate: Int32, followsOn: Bool) {
        timeline = AudioTimeline(start: start, rate: rate)
        let away = (start - gridTime(grid.given)).seconds * Double(output.sampleRate)
        if !followsOn || abs(away) > Self.maxDeviation { grid = (start, 0) }
    }

    /// Maximum distance in output frames at which audio continues the grid.
    private static let maxDeviation = 1.0

    /// Inserts the pending audio, or drains the previous timeline first.
    private func insertPending(into block: PCMBlock) throws(MediaError) {
        guard var audio = pending else { return }
        if timeline != nil, audio.isDiscontinuous || !resampler.accepts(decoder.frame) {
            beginDraining()
            if audio.isDiscontinuous {
                isBroken = true
            } else {
                isGaplessBoundary = true
                resampler.extendEnd()
            }
            pending?.isDiscontinuous = false
            return
        }
        if timeline == nil {
            let followsOn = lastEnd != nil && !isBroken && !audio.isDiscontinuous
            isBroken = false
            try resampler.configure(for: decoder.frame)
            let rate = decoder.frame.pointee.sample_rate
            var start = audio.time ?? lastEnd ?? .zero
            if audio.time != nil,
                let error = decoder.roundingError(frames: Int(decoder.frame.pointee.nb_samples), rate: rate)
            {
                start += error
            }
            // A timestamp within the container's rounding means that there is no gap.
            if followsOn, let lastEnd, (start - lastEnd).nanoseconds.magnitude <= AudioTimeline.rounding {
                start = lastEnd
            }
            beginTimeline(at: start, rate: rate, followsOn: followsOn)
            if followsOn, grid.given > 0 {
                let offset = (gridTime(grid.given) - start).seconds * Double(rate)
                resampler.extendStart(decoder.frame, skip: audio.skip, count: audio.count, offset: offset)
            }
        } else {
            try resampler.adapt(to: decoder.frame)
        }
        switch audio.beginsPiece ? timeline!.join(audio.time) : timeline!.check(audio.time) {
        case .joins: break
        case .gap(let frames):
            resampler.insertSilence(frames)
            timeline!.count(frames)
        case .overlap(let frames):
            if frames >= audio.count {
                pending = nil
                return
            }
            audio.skip += frames
            audio.count -= frames
        case .jump:
            beginDraining()
            isBroken = true
            return
        }
        pending = nil
        timeline!.count(audio.count)
        _ = appendOutput(into: block) { target, room in
            resampler.convert(decoder.frame, skip: audio.skip, count: audio.count, into: target, room: room)
        }
    }
}
