/// A block of decoded audio: interleaved floats, and the media time of the first frame.
///
/// One thread fills it; after publication it is read-only, like `PacketBatch`.
///
/// `@unchecked Sendable`: only the sole owner mutates it, before publication.
public final class PCMBlock: @unchecked Sendable {
    /// Sample rate and channels of the samples.
    public let format: PCMFormat
    /// Maximum number of frames.
    public let capacity: Int
    /// Interleaved samples, `capacity × channels`; the first `frames × channels` are valid.
    public let samples: UnsafeMutablePointer<Float>
    /// The number of valid frames.
    public var frames = 0
    /// Media time of the first frame.
    public var start: MediaTime = .zero
    /// Playback speed for which the samples were time-stretched: seconds of media time per second of samples. 1 is
    /// normal.
    public var speed: Double = 1
    /// The block that owns the memory; nil if this block does.
    private let lender: PCMBlock?

    /// Allocates a block of silence without valid frames; a `capacity` below 1 becomes 1.
    public init(format: PCMFormat, capacity: Int) {
        self.format = format
        self.capacity = max(1, capacity)
        samples = .allocate(capacity: self.capacity * format.channels)
        samples.initialize(repeating: 0, count: self.capacity * format.channels)
        lender = nil
    }

    /// Creates a read-only block that shares frames of a published block, at another media time.
    ///
    /// - Parameter range: frames of the other block, clamped to its valid ones.
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

    /// Removes frames from the front, at most all. Only for the owner, before publication.
    ///
    /// - Precondition: the block does not share memory.
    public func dropFirst(_ count: Int) {
        let count = min(max(0, count), frames)
        guard count > 0 else { return }
        precondition(lender == nil, "memory that is shared is not written to")
        let oldEnd = end
        samples.update(from: samples + count * format.channels, count: (frames - count) * format.channels)
        frames -= count
        start =
            speed == 1
            ? start + MediaTime(value: Int64(count), timescale: Int32(clamping: format.sampleRate))
            : oldEnd - MediaTime(seconds: Double(frames) / Double(format.sampleRate) * speed)
    }

    /// Media time of the end of the last frame.
    public var end: MediaTime {
        speed == 1
            ? start + MediaTime(value: Int64(frames), timescale: Int32(clamping: format.sampleRate))
            : start + MediaTime(seconds: Double(frames) / Double(format.sampleRate) * speed)
    }
}
