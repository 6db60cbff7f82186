import MediaCore

/// A quarter of a minute of silence. A kiosk plays it while nothing else can be played: if it advances, the outputs
/// accept audio, and the item that was left before it is at fault.
final class TestSound: MediaSource {
    /// The address that opens it; no file can have it.
    static let address = "/dev/null/Test sound"
    private static let rate: Int32 = 48_000
    private static let bufferFrames: Int64 = 4800
    private static let duration = MediaTime(value: 15, timescale: 1)

    let summary: MediaSummary

    init() {
        let format = AudioFormat(
            parameters: CodecParameters(codec: "pcm_s16le"), sampleRate: Int(Self.rate), layout: .stereo)
        summary = MediaSummary(
            container: "wav", tracks: [Track(id: 0, number: 1, format: .audio(format))], duration: Self.duration)
    }

    func source(for track: Track) -> any SampleSource { Source(track) }

    private final class Source: SampleSource {
        let track: Track
        /// The next audio frame.
        private let next = Lock<Int64>(0)
        private let isCancelled = Lock(false)

        init(_ track: Track) { self.track = track }

        func read() throws(MediaError) -> SampleBuffer? {
            if isCancelled.withLock({ $0 }) { throw MediaError(.cancelled, "reading was cancelled") }
            let first = next.withLock { next in
                defer { next += TestSound.bufferFrames }
                return next
            }
            let start = MediaTime(value: first, timescale: TestSound.rate)
            guard start < TestSound.duration, let format = track.audioFormat else { return nil }
            let length = MediaTime(value: TestSound.bufferFrames, timescale: TestSound.rate)
            // Two channels of 16 bits.
            let silence = [UInt8](repeating: 0, count: Int(TestSound.bufferFrames) * 4)
            let batch = PacketBatch(reservingBytes: silence.count, packets: 1)
            silence.withUnsafeBytes {
                batch.append($0, as: PacketBatch.Packet(presentationTime: start, duration: length))
            }
            return SampleBuffer(
                payload: .encodedAudio(format, batch), presentationTime: start, duration: length, flags: .sync)
        }

        func seek(to time: MediaTime, mode: SeekMode) -> MediaTime? {
            let first = max(0, time.rescaled(to: TestSound.rate)) / TestSound.bufferFrames * TestSound.bufferFrames
            next.withLock { $0 = first }
            return MediaTime(value: first, timescale: TestSound.rate)
        }

        func cancel() { isCancelled.withLock { $0 = true } }
    }
}
