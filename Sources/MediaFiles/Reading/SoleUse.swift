internal import Synchronization

/// Traps where two threads are inside at the same time.
final class SoleUse: Sendable {
    private let busy = Atomic<Bool>(false)
    private let name: StaticString

    init(_ name: StaticString) { self.name = name }

    func enter() {
        let wasBusy = busy.exchange(true, ordering: .acquiring)
        precondition(!wasBusy, "two threads use one \(name) at the same time")
    }

    func leave() { busy.store(false, ordering: .releasing) }
}
