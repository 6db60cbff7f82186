internal import MediaCore
internal import SyncRendering

/// A pairing with a destination that may wait for a PIN. Any thread.
final class PairingTask: Sendable {
    private struct State {
        var isAsking = false
        var answer: String??
    }

    /// How long a PIN is awaited: speakers display one for about a minute.
    private static let timeout = Duration.seconds(120)

    let destination: OutputDestination
    private let state = Lock(State())
    private let answered = Signal()
    private let interruption = Interruption()

    init(_ destination: OutputDestination) { self.destination = destination }

    /// The identifier of the destination.
    var id: String { destination.id }
    /// Whether the PIN is awaited.
    var isAsking: Bool { state.withLock { $0.isAsking && $0.answer == nil } }
    /// Whether the user has cancelled it.
    var isCancelled: Bool { state.withLock { $0.answer == .some(nil) } }

    /// Continues with the PIN; nil cancels.
    func answer(_ pin: String?) {
        state.withLock { if $0.answer == nil { $0.answer = .some(pin) } }
        if pin == nil { interruption.raise(status: 0) }
        answered.raise()
    }

    /// Returns the answer. The other receiver of a stereo pair has a PIN of its own; a cancellation is for both.
    private func waitForAnswer() -> String?? {
        state.withLock { state in
            guard case .some(.some(let pin)) = state.answer else { return state.answer }
            (state.answer, state.isAsking) = (nil, false)
            return .some(pin)
        }
    }

    /// Pairs. Blocks on the network, the disk and the PIN.
    ///
    /// - Parameter wantsPIN: Called when the destination displays its PIN.
    func run(_ action: PairingAction, in registry: OutputRegistry, wantsPIN: @escaping () -> Void) throws(TalkieError)
        -> PairingOutcome
    {
        // Both receivers of a stereo pair are found by their name only.
        let name =
            destination.kind == .stereoPair || destination.id.hasPrefix("name:") ? destination.name : destination.id
        return try registry.pair(name, action, until: interruption) { [self] _ in
            state.withLock { $0.isAsking = true }
            wantsPIN()
            let deadline = HostInstant.now.advanced(by: Self.timeout)
            while HostInstant.now < deadline {
                if let answer = waitForAnswer() { return answer }
                answered.wait(until: deadline)
                answered.clear()
            }
            return nil
        }
    }
}
