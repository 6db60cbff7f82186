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
    /// The block whose memory this is; nil when it is its own.
    private let lender: PCMBlock?

    public init(format: PCMFormat, capacity: Int) {
        self.format = format
        self.capacity = max(1, capacity)
        samples = .allocate(capacity: self.capacity * format.channels)
        samples.initialize(repeating: 0, count: self.capacity * format.channels)
        lender = nil
    }

    /// Some frames of a published block, due at another film time: nothing is copied. To be read only.
    ///
    /// - Parameter range: frames of the other block; what it does not have is left out.
    public init(sharing other: PCMBlock, frames range: Range<Int>, start: MediaTime) {
        let range = range.clamped(to: 0..<other.frames)
        format = other.format
        capacity = max(1, range.count)
        samples = other.samples + range.lowerBound * other.format.channels
        frames = range.count
        self.start = start
        speed = other.speed
        lender = other
    }

    deinit { if lender == nil { samples.deallocate() } }

    /// Takes frames away from the front; for the sole owner before publication.
    public func dropFirst(_ count: Int) {
        let count = min(max(0, count), frames)
        guard count > 0 else { return }
        precondition(lender == nil, "memory that is shared is not written to")
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
