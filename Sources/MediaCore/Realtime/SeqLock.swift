internal import Glibc
internal import Synchronization

/// A small value with one writer at a time and any number of readers that need no lock.
///
/// Two copies: a store writes the one that is not published, so that a reader never waits for a writer, not even a
/// real-time reader that has preempted it. A reader retries only if two stores overtook it. The caller serializes
/// writers.
///
/// `@unchecked Sendable`: the words are atomics, and the number of stores detects torn reads.
package final class SeqLock<Value: BitwiseCopyable & Sendable>: @unchecked Sendable {
    /// The number of stores; its lowest bit selects the published copy. Stored by the current writer only, as are
    /// `words`.
    private let stores = Atomic<UInt64>(0)
    /// Both copies.
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    /// The number of words of a copy.
    private let count: Int
    /// Initializes the copy in `load`; not read otherwise.
    private let first: Value

    /// Creates a lock that contains `value`.
    package init(_ value: Value) {
        first = value
        count = (MemoryLayout<Value>.size + 7) / 8
        words = .allocate(capacity: 2 * count)
        for index in 0..<2 * count { (words + index).initialize(to: Atomic(0)) }
        store(value)
    }

    deinit {
        words.deinitialize(count: 2 * count)
        words.deallocate()
    }

    /// Replaces the value. Wait-free; concurrent calls are not allowed.
    package func store(_ value: Value) {
        prepare(value)
        publish()
    }

    /// Writes the unpublished copy: the first half of a store.
    func prepare(_ value: Value) {
        let next = stores.load(ordering: .relaxed) &+ 1
        // A reader that sees a word of this copy also sees that its own copy is no longer published.
        atomicMemoryFence(ordering: .releasing)
        withUnsafePointer(to: value) { write($0, words + Int(next & 1) * count) }
    }

    /// Publishes the copy that was written: the second half of a store.
    func publish() { stores.store(stores.load(ordering: .relaxed) &+ 1, ordering: .releasing) }

    /// Returns a copy from a single `store`. Lock-free: each retry means that another store was completed.
    package func load() -> Value {
        // withUnsafeTemporaryAllocation is miscompiled by Swift 6.3.1 with optimization: its generic result is taken
        // for a thrown error, and execution runs past the end of the function.
        var copy = first
        while true {
            let before = stores.load(ordering: .acquiring)
            withUnsafeMutablePointer(to: &copy) { read(into: $0, words + Int(before & 1) * count) }
            atomicMemoryFence(ordering: .acquiring)
            if stores.load(ordering: .relaxed) == before { return copy }
        }
    }

    private func write(_ bytes: UnsafeRawPointer, _ words: UnsafeMutablePointer<Atomic<UInt64>>) {
        for index in 0..<count {
            var word: UInt64 = 0
            memcpy(&word, bytes + index * 8, size(of: index))
            words[index].store(word, ordering: .relaxed)
        }
    }

    private func read(into bytes: UnsafeMutableRawPointer, _ words: UnsafeMutablePointer<Atomic<UInt64>>) {
        for index in 0..<count {
            var word = words[index].load(ordering: .relaxed)
            memcpy(bytes + index * 8, &word, size(of: index))
        }
    }

    /// Returns the number of bytes of the value in a word.
    private func size(of index: Int) -> Int { index + 1 < count ? 8 : MemoryLayout<Value>.size - index * 8 }
}
