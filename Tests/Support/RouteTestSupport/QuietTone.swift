import MediaCore

/// A quiet tone of 441 Hz at 44.1 kHz, for tests that check that all of it is audible.
enum QuietTone {
    /// Returns one second of the tone as PCM packets.
    ///
    /// - Parameter start: in frames.
    static func second(from start: Int64) -> SampleBuffer {
        let format = AudioFormat(
            parameters: CodecParameters(codec: "pcm_s16le", bitsPerRawSample: 16), sampleRate: 44100,
            layout: .stereo)
        let batch = PacketBatch()
        let samples = (0..<88200).map { Int16(truncatingIfNeeded: 1000 + ($0 / 2 % 100) * 20) }
        let (time, length) = (
            MediaTime(value: start, timescale: 44100), MediaTime(value: 44100, timescale: 44100)
        )
        samples.withUnsafeBytes { batch.append($0, as: .init(presentationTime: time, duration: length)) }
        return SampleBuffer(
            payload: .encodedAudio(format, batch), presentationTime: time, duration: length, flags: .sync)
    }
}
