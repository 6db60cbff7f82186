internal import MediaCore
internal import Synchronization

/// Lets hot threads tell the player "something moved" only while it waits to hear that.
final class ProgressGate: Sendable {
    private let armed = Atomic<Bool>(false)
    private let signal: Signal

    init(signal: Signal) { self.signal = signal }

    /// The player wants to hear of progress, or no longer.
    func arm(_ wanted: Bool) { armed.store(wanted, ordering: .releasing) }

    /// Something moved. Wait-free; raises nothing while nobody waits.
    func report() { if armed.load(ordering: .acquiring) { signal.raise() } }
}
