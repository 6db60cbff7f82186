internal import Synchronization

/// A small value that one writer at a time replaces and any thread reads whole without waiting for a lock.
///
/// Readers retry while a write is under way, which lasts nanoseconds; a reader never blocks a writer. Writers are
/// serialised by the caller.
///
/// `@unchecked Sendable`: the words are atomics, and the sequence number tells a torn copy from a whole one.
public final class SeqLock<Value: BitwiseCopyable & Sendable>: @unchecked Sendable {
    private let sequence = Atomic<UInt64>(0)
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let count: Int

    public init(_ value: Value) {
        count = (MemoryLayout<Value>.size + 7) / 8
        words = .allocate(capacity: count)
        for index in 0..<count { (words + index).initialize(to: Atomic(0)) }
        store(value)
    }

    deinit {
        words.deinitialize(count: count)
        words.deallocate()
    }

    /// Replaces the value. Wait-free; callers must not write concurrently.
    public func store(_ value: Value) {
        let start = sequence.load(ordering: .relaxed)
        sequence.store(start &+ 1, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { buffer in
            buffer.initialize(repeating: 0)
            withUnsafeBytes(of: value) { UnsafeMutableRawBufferPointer(buffer).copyMemory(from: $0) }
            for index in 0..<count { words[index].store(buffer[index], ordering: .relaxed) }
        }
        sequence.store(start &+ 2, ordering: .releasing)
    }

    /// A copy that some single `store` wrote. Lock-free: retries only while a write is under way.
    public func load() -> Value {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { buffer in
            while true {
                let before = sequence.load(ordering: .acquiring)
                if before & 1 == 0 {
                    for index in 0..<count {
                        buffer.initializeElement(at: index, to: words[index].load(ordering: .relaxed))
                    }
                    atomicMemoryFence(ordering: .acquiring)
                    if sequence.load(ordering: .relaxed) == before { break }
                }
            }
            return UnsafeRawPointer(buffer.baseAddress!).loadUnaligned(as: Value.self)
        }
    }
}
