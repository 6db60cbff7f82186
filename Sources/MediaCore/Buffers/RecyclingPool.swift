internal import Synchronization

/// Hands out reusable objects and takes them back by itself once nobody else holds them.
///
/// One thread acquires; any thread may drop the last reference. The pool grows to what is in flight at once and
/// allocates nothing afterwards.
public struct RecyclingPool<Element: AnyObject> {
    private var slots: [Element] = []
    private var cursor = 0
    private let make: () -> Element

    public init(make: @escaping () -> Element) { self.make = make }

    /// Objects in the pool, free or not.
    public var count: Int { slots.count }

    /// An object that only the caller and the pool hold. Its contents are those of its last use.
    public mutating func acquire() -> Element {
        for _ in 0..<slots.count {
            if cursor >= slots.count { cursor = 0 }
            if isKnownUniquelyReferenced(&slots[cursor]) {
                // Pairs with the release in the reference count's decrement on the thread that dropped it.
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

    /// Forgets the free objects, for instance after minutes of buffering ended.
    public mutating func trim() {
        var kept: [Element] = []
        kept.reserveCapacity(slots.count)
        for index in slots.indices where !isKnownUniquelyReferenced(&slots[index]) { kept.append(slots[index]) }
        slots = kept
        cursor = 0
    }
}
