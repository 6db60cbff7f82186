/// A stretch of decoded sound: interleaved floats with the film time of the first frame.
///
/// Filled by one thread, then published and only read, like `PacketBatch`.
///
/// `@unchecked Sendable`: mutation is for the sole owner before publication.
public final class PCMBlock: @unchecked Sendable {
    public let format: PCMFormat
    /// Frames that fit.
    public let capacity: Int
    /// Interleaved samples, `capacity × channels` of them; the first `frames × channels` are meaningful.
    public let samples: UnsafeMutablePointer<Float>
    /// Frames filled.
    public var frames = 0
    /// Film time of the first frame.
    public var start: MediaTime = .zero
    /// Film seconds that pass per second of these samples: the speed they were stretched for. 1 is natural.
    public var speed: Double = 1

    public init(format: PCMFormat, capacity: Int) {
        self.format = format
        self.capacity = max(1, capacity)
        samples = .allocate(capacity: self.capacity * format.channels)
        samples.initialize(repeating: 0, count: self.capacity * format.channels)
    }

    deinit { samples.deallocate() }

    /// Takes frames away from the front; for the sole owner before publication.
    public func dropFirst(_ count: Int) {
        let count = min(max(0, count), frames)
        guard count > 0 else { return }
        let whole = end
        samples.update(from: samples + count * format.channels, count: (frames - count) * format.channels)
        frames -= count
        start =
            speed == 1
            ? start + MediaTime(value: Int64(count), timescale: Int32(clamping: format.sampleRate))
            : whole - MediaTime(seconds: Double(frames) / Double(format.sampleRate) * speed)
    }

    /// Film time just after the last frame.
    public var end: MediaTime {
        speed == 1
            ? start + MediaTime(value: Int64(frames), timescale: Int32(clamping: format.sampleRate))
            : start + MediaTime(seconds: Double(frames) / Double(format.sampleRate) * speed)
    }
}
