internal import MediaCore

/// Generates one speaker's audio of a run on demand: silence, and chirps at their times.
struct StimulusAudio {
    static let sampleRate = 48_000
    /// Frames per buffer.
    private static let piece = 4800

    private let events: [StimulusPlan.Event]
    private let frames: Int64
    private let format = AudioFormat(
        parameters: CodecParameters(
            codec: "pcm_f32le", blockAlign: 8, bitsPerCodedSample: 32, bitsPerRawSample: 32), sampleRate: sampleRate,
        layout: .stereo)
    private var next: Int64 = 0

    init(_ plan: StimulusPlan, speaker: Int) {
        events = plan.events.filter { $0.speaker == speaker }
        frames = plan.duration.rescaled(to: Int32(Self.sampleRate))
    }

    /// Returns the next tenth of a second; nil at the end.
    mutating func read() -> SampleBuffer? {
        guard next < frames else { return nil }
        let count = min(Int64(Self.piece), frames - next)
        var mono = [Float](repeating: 0, count: Int(count))
        for event in events {
            let onset =
                (event.time.seconds + event.audioDelay.inSeconds) * Double(Self.sampleRate) - Double(next)
            guard onset < Double(count), onset > -Double(Self.sampleRate) else { continue }
            event.code.add(to: &mono, onset: onset, rate: Double(Self.sampleRate))
        }
        let stereo = mono.flatMap { [$0, $0] }
        let start = MediaTime(value: next, timescale: Int32(Self.sampleRate))
        let duration = MediaTime(value: count, timescale: Int32(Self.sampleRate))
        next += count
        let batch = PacketBatch(reservingBytes: stereo.count * 4, packets: 1)
        stereo.withUnsafeBytes { batch.append($0, as: PacketBatch.Packet(presentationTime: start, duration: duration)) }
        return SampleBuffer(
            payload: .encodedAudio(format, batch), presentationTime: start, duration: duration, flags: .sync)
    }
}
