internal import MediaCore
internal import SyncRendering

/// A converter that changes the speed and keeps the pitch. Owned and called by one thread.
///
/// Times are counted, not read from the filter: output frame n since the last discontinuity has media
/// time `start + n × speed / rate`. The filter shifts single sounds by at most half its window (about
/// 25 ms of media time) around that.
final class SpeedConverter: PCMConverter {
    private let inner: FilmAudioConverter
    private let stretcher: TempoStretcher
    private let speed: Double
    private let rate: Double
    private let natural: PCMBlock
    private let channels: Int
    /// Media time of the first frame since the discontinuity, expected media time of the
    /// next input, and frames returned.
    private var start: MediaTime?
    private var expected: MediaTime?
    private var given: Int64 = 0
    private var isEnding = false
    /// Whether `natural` holds audio not yet sent to the stretcher.
    private var isHolding = false
    private var isFinished = false

    init(_ inner: FilmAudioConverter, output: PCMFormat, speed: Double) throws(MediaError) {
        self.inner = inner
        self.speed = speed
        rate = Double(output.sampleRate)
        channels = output.channels
        stretcher = try TempoStretcher(format: output, speed: speed)
        natural = PCMBlock(format: output, capacity: 4096)
    }

    var decodeErrorCount: Int { inner.decodeErrorCount }
    func consumeUndecodableAudio() -> UndecodableAudio? { inner.consumeUndecodableAudio() }

    func send(_ buffer: SampleBuffer) throws(MediaError) {
        isFinished = false
        try inner.send(buffer)
    }

    func adopt(_ format: AudioFormat) throws(MediaError) -> Bool { try inner.adopt(format) }

    func setDialogueLift(_ decibels: Double) { inner.setDialogueLift(decibels) }

    func finish() {
        isFinished = true
        inner.finish()
    }

    func reset() {
        inner.reset()
        (start, expected) = (nil, nil)
        (isEnding, isHolding, isFinished) = (false, false, false)
    }

    func receive(into block: PCMBlock) throws(MediaError) -> Bool {
        block.frames = 0
        block.speed = speed
        while block.frames < block.capacity {
            if appendOutput(into: block) { continue }
            if isEnding {
                // The stretcher is drained; the next audio starts at its own media time.
                isEnding = false
                (start, expected) = (nil, nil)
                if block.frames > 0 { return true }
            }
            if isHolding {
                try put()
            } else if try inner.receive(into: natural) {
                if let expected, (natural.start - expected).nanoseconds.magnitude > 1_000_000 {
                    isEnding = true
                    isHolding = true
                    stretcher.finish()
                } else {
                    try put()
                }
            } else if isFinished, start != nil {
                isEnding = true
                stretcher.finish()
            } else {
                break
            }
        }
        return block.frames > 0
    }

    /// Sends `natural` to the stretcher, which restarts after a reset or a discontinuity; a failure is thrown here
    /// and the next call tries again.
    private func put() throws(MediaError) {
        if start == nil {
            try stretcher.begin()
            start = natural.start
            given = 0
        }
        isHolding = false
        expected = natural.end
        stretcher.push(natural.samples, frames: natural.frames)
    }

    private func appendOutput(into block: PCMBlock) -> Bool {
        guard let start else { return false }
        let got = stretcher.pull(into: block.samples + block.frames * channels, room: block.capacity - block.frames)
        guard got > 0 else { return false }
        if block.frames == 0 {
            let passed = Int64(clamping: Double(given) / rate * speed * 1e9, in: 0 ... .max)
            block.start = start + MediaTime(nanoseconds: passed)
        }
        block.frames += got
        given += Int64(got)
        return true
    }
}
