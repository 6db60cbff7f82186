internal import Synchronization

/// A pool of objects that become reusable when the pool holds the only reference.
///
/// One thread acquires; any thread may release the last reference. The pool grows to the maximum number in use, then
/// allocates nothing. Not thread-safe itself.
package struct RecyclingPool<Element: AnyObject> {
    private var slots: [Element] = []
    private var cursor = 0
    private let make: () -> Element

    /// - Parameter make: creates an object when none is free.
    package init(make: @escaping () -> Element) { self.make = make }

    /// Returns an object that only the caller and the pool reference. It has the contents of its last use.
    package mutating func acquire() -> Element {
        for _ in 0..<slots.count {
            if cursor >= slots.count { cursor = 0 }
            if isKnownUniquelyReferenced(&slots[cursor]) {
                // Pairs with the release in the reference count's decrement on the thread that released the object.
                atomicMemoryFence(ordering: .acquiring)
                defer { cursor += 1 }
                return slots[cursor]
            }
            cursor += 1
        }
        let fresh = make()
        slots.append(fresh)
        cursor = slots.count
        return fresh
    }
}
