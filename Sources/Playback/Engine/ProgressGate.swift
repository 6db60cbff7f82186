internal import MediaCore
internal import Synchronization

/// Limits wake-ups of the player by hot threads to the time in which it waits for progress.
final class ProgressGate: Sendable {
    /// Stored with release by the player's thread, loaded with acquire by any.
    private let armed = Atomic<Bool>(false)
    private let signal: Signal

    init(signal: Signal) { self.signal = signal }

    /// Enables or disables wake-ups.
    func arm(_ wanted: Bool) { armed.store(wanted, ordering: .releasing) }

    /// Reports progress; raises the signal only if enabled. Wait-free. Any thread.
    func report() { if armed.load(ordering: .acquiring) { signal.raise() } }
}
