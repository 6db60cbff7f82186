internal import MediaCore

/// Returns one image from memory.
///
/// `@unchecked Sendable`: one thread at a time uses the mutable fields; `cancellation` may be used by any thread.
final class ImageReader: SampleSource, @unchecked Sendable {
    let track: Track
    private let batch: PacketBatch
    private let cancellation = Cancellation()
    private var isGivenOut = false
    private var isDiscontinuous = false

    /// Creates a reader.
    ///
    /// - Parameter batch: One packet with the image.
    init(track: Track, _ batch: PacketBatch) { (self.track, self.batch) = (track, batch) }

    static func batch(_ bytes: UnsafeRawBufferPointer, for duration: MediaTime) -> PacketBatch {
        let batch = PacketBatch(reservingBytes: bytes.count, packets: 1)
        batch.append(bytes, as: PacketBatch.Packet(presentationTime: .zero, duration: duration))
        return batch
    }

    func read() throws(MediaError) -> SampleBuffer? {
        if cancellation.isCancelled { throw MediaError(.cancelled, "reading was cancelled") }
        guard !isGivenOut, case .video(let format) = track.format else { return nil }
        isGivenOut = true
        return SampleBuffer(
            payload: .encodedVideo(format, batch), presentationTime: .zero, duration: track.duration ?? .zero,
            flags: isDiscontinuous ? [.sync, .discontinuity] : .sync)
    }

    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        if cancellation.isCancelled { throw MediaError(.cancelled, "reading was cancelled") }
        (isGivenOut, isDiscontinuous) = (mode == .syncAfter && time > .zero, true)
        return .zero
    }

    func cancel() { cancellation.cancel() }
}
