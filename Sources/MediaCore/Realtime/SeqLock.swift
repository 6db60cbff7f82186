internal import Glibc
internal import Synchronization

/// A small value with one writer at a time and any number of readers that need no lock.
///
/// Readers retry during a write, which takes nanoseconds; they never block the writer. The caller serializes writers.
///
/// `@unchecked Sendable`: the words are atomics, and the sequence number detects torn reads.
package final class SeqLock<Value: BitwiseCopyable & Sendable>: @unchecked Sendable {
    /// Odd during a write. Stored by the current writer only, as are `words`.
    private let sequence = Atomic<UInt64>(0)
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let count: Int
    /// Initializes the copy in `load`; not read otherwise.
    private let first: Value

    /// Creates a lock that contains `value`.
    package init(_ value: Value) {
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

    /// Replaces the value. Wait-free; concurrent calls are not allowed.
    package func store(_ value: Value) {
        let start = sequence.load(ordering: .relaxed)
        sequence.store(start &+ 1, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        withUnsafePointer(to: value) { write($0) }
        sequence.store(start &+ 2, ordering: .releasing)
    }

    /// Returns a copy from a single `store`. Lock-free: retries only during a write.
    package func load() -> Value {
        // withUnsafeTemporaryAllocation is miscompiled by Swift 6.3.1 with optimization: its generic result is taken
        // for a thrown error, and execution runs past the end of the function.
        var copy = first
        while true {
            let before = sequence.load(ordering: .acquiring)
            if before & 1 == 0 {
                withUnsafeMutablePointer(to: &copy) { read(into: $0) }
                atomicMemoryFence(ordering: .acquiring)
                if sequence.load(ordering: .relaxed) == before { return copy }
            }
        }
    }

    private func write(_ bytes: UnsafeRawPointer) {
        for index in 0..<count {
            var word: UInt64 = 0
            memcpy(&word, bytes + index * 8, size(of: index))
            words[index].store(word, ordering: .relaxed)
        }
    }

    private func read(into bytes: UnsafeMutableRawPointer) {
        for index in 0..<count {
            var word = words[index].load(ordering: .relaxed)
            memcpy(bytes + index * 8, &word, size(of: index))
        }
    }

    /// Returns the number of bytes of the value in a word.
    private func size(of index: Int) -> Int { index + 1 < count ? 8 : MemoryLayout<Value>.size - index * 8 }
}
