internal import Synchronization

/// Traps if two threads use an object at the same time.
final class ExclusiveUseCheck: Sendable {
    private let busy = Atomic<Bool>(false)
    private let name: StaticString

    init(_ name: StaticString) { self.name = name }

    func beginUse() {
        let wasBusy = busy.exchange(true, ordering: .acquiring)
        precondition(!wasBusy, "two threads use one \(name) at the same time")
    }

    func endUse() { busy.store(false, ordering: .releasing) }
}
