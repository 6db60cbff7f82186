internal import Synchronization

/// A single-producer, single-consumer ring buffer of interleaved float samples. All operations are wait-free.
///
/// Positions are frames since creation; they do not wrap in practice (2⁶³).
///
/// `@unchecked Sendable`: the producer writes only free frames and publishes them by a release store to `written`. The
/// consumer reads only published frames and frees them by a release store to `consumed`.
package final class FrameRing: @unchecked Sendable {
    /// Samples per frame.
    let channels: Int
    /// Capacity in frames; a power of two.
    package let capacity: Int
    /// Written by the producer, read by the consumer.
    private let storage: UnsafeMutablePointer<Float>
    /// Frames written; stored by the producer thread only.
    private let written = Atomic<Int64>(0)
    /// Frames consumed; stored by the consumer thread only.
    private let consumed = Atomic<Int64>(0)

    /// Allocates a ring of silence.
    ///
    /// - Parameter minimumFrames: minimum capacity, rounded up to a power of two.
    package init(channels: Int, minimumFrames: Int) {
        self.channels = max(1, channels)
        var size = 64
        while size < minimumFrames { size *= 2 }
        capacity = size
        storage = .allocate(capacity: size * self.channels)
        storage.initialize(repeating: 0, count: size * self.channels)
    }

    deinit { storage.deallocate() }

    /// Frames written since creation.
    package var writePosition: Int64 { written.load(ordering: .acquiring) }
    /// Frames consumed since creation.
    package var readPosition: Int64 { consumed.load(ordering: .acquiring) }
    /// Readable frames.
    var available: Int { Int(writePosition - readPosition) }
    /// Writable frames.
    package var free: Int { capacity - available }

    /// Producer: copies as many frames as fit and returns their number.
    package func write(_ samples: UnsafePointer<Float>, frames: Int) -> Int {
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

    /// Producer: withdraws the frames from a position on. The caller must ensure that the consumer does not read them.
    package func rollBack(to position: Int64) {
        let end = written.load(ordering: .relaxed)
        written.store(min(end, max(position, consumed.load(ordering: .acquiring))), ordering: .releasing)
    }

    /// Consumer: copies published frames from a position without consuming them.
    package func copy(from position: Int64, frames: Int, to target: UnsafeMutablePointer<Float>) {
        let index = Int(position) & (capacity - 1)
        let first = min(frames, capacity - index)
        target.update(from: storage + index * channels, count: first * channels)
        (target + first * channels).update(from: storage, count: (frames - first) * channels)
    }

    /// Consumer: frees all frames before a position.
    package func consume(upTo position: Int64) {
        if position > consumed.load(ordering: .relaxed) { consumed.store(position, ordering: .releasing) }
    }
}
