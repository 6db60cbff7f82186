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
    /// Gives a copy its memory; never read.
    private let first: Value

    public init(_ value: Value) {
        first = value
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
        withUnsafeBytes(of: value) { write($0) }
        sequence.store(start &+ 2, ordering: .releasing)
    }

    /// A copy that some single `store` wrote. Lock-free: retries only while a write is under way.
    public func load() -> Value {
        // Not through withUnsafeTemporaryAllocation: Swift 6.3.1 with optimisation takes its generic result for a
        // thrown error and runs off the end of the function.
        var copy = first
        while true {
            let before = sequence.load(ordering: .acquiring)
            if before & 1 == 0 {
                withUnsafeMutableBytes(of: &copy) { read(into: $0) }
                atomicMemoryFence(ordering: .acquiring)
                if sequence.load(ordering: .relaxed) == before { return copy }
            }
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) {
        for index in 0..<count {
            var word: UInt64 = 0
            let part = UnsafeRawBufferPointer(rebasing: bytes[(index * 8)..<min(bytes.count, index * 8 + 8)])
            withUnsafeMutableBytes(of: &word) { $0.copyMemory(from: part) }
            words[index].store(word, ordering: .relaxed)
        }
    }

    private func read(into bytes: UnsafeMutableRawBufferPointer) {
        for index in 0..<count {
            let word = words[index].load(ordering: .relaxed)
            let part = UnsafeMutableRawBufferPointer(rebasing: bytes[(index * 8)..<min(bytes.count, index * 8 + 8)])
            withUnsafeBytes(of: word) { part.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<part.count])) }
        }
    }
}
