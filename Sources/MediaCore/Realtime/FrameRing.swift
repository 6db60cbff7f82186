internal import Synchronization

/// A ring of interleaved float samples between one producing and one consuming thread. Wait-free on both ends.
///
/// Positions count frames since creation and never wrap in practice (2⁶³).
///
/// `@unchecked Sendable`: the producer writes only free frames and publishes them with a release of `written`; the
/// consumer reads only published frames and gives them back with a release of `consumed`.
public final class FrameRing: @unchecked Sendable {
    public let channels: Int
    /// Frames it can hold; a power of two.
    public let capacity: Int
    private let storage: UnsafeMutablePointer<Float>
    private let written = Atomic<Int64>(0)
    private let consumed = Atomic<Int64>(0)

    /// - Parameter minimumFrames: frames it must hold at least.
    public init(channels: Int, minimumFrames: Int) {
        self.channels = max(1, channels)
        var size = 64
        while size < minimumFrames { size *= 2 }
        capacity = size
        storage = .allocate(capacity: size * self.channels)
        storage.initialize(repeating: 0, count: size * self.channels)
    }

    deinit { storage.deallocate() }

    /// Frames written since creation.
    public var writePosition: Int64 { written.load(ordering: .acquiring) }
    /// Frames consumed since creation.
    public var readPosition: Int64 { consumed.load(ordering: .acquiring) }
    /// Frames ready for the consumer.
    public var available: Int { Int(writePosition - readPosition) }
    /// Frames free for the producer.
    public var free: Int { capacity - available }

    /// Producer: copies as many frames as fit and returns how many did.
    public func write(_ samples: UnsafePointer<Float>, frames: Int) -> Int {
        let start = written.load(ordering: .relaxed)
        let space = capacity - Int(start - consumed.load(ordering: .acquiring))
        let count = min(frames, space)
        guard count > 0 else { return 0 }
        let index = Int(start) & (capacity - 1)
        let first = min(count, capacity - index)
        (storage + index * channels).update(from: samples, count: first * channels)
        storage.update(from: samples + first * channels, count: (count - first) * channels)
        written.store(start + Int64(count), ordering: .releasing)
        return count
    }

    /// Producer: takes back what was written from an absolute position on. The consumer must have agreed to read nothing
    /// from there on.
    package func rollBack(to position: Int64) {
        let end = written.load(ordering: .relaxed)
        written.store(min(end, max(position, consumed.load(ordering: .acquiring))), ordering: .releasing)
    }

    /// Consumer: the published sample of one channel at an absolute position, which must lie in
    /// `readPosition ..< writePosition`.
    public func sample(at position: Int64, channel: Int) -> Float {
        storage[(Int(position) & (capacity - 1)) * channels + channel]
    }

    /// Consumer: copies published frames from an absolute position without consuming them.
    public func copy(from position: Int64, frames: Int, to target: UnsafeMutablePointer<Float>) {
        let index = Int(position) & (capacity - 1)
        let first = min(frames, capacity - index)
        target.update(from: storage + index * channels, count: first * channels)
        (target + first * channels).update(from: storage, count: (frames - first) * channels)
    }

    /// Consumer: gives back everything before an absolute position.
    public func consume(upTo position: Int64) {
        if position > consumed.load(ordering: .relaxed) { consumed.store(position, ordering: .releasing) }
    }
}
