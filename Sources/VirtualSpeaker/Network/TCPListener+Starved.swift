internal import MediaCore
internal import Sockets

extension TCPListener {
    /// Without a descriptor for a pending connection the listener stays readable, and a polling thread would spin.
    private static let rest: Duration = .milliseconds(250)

    /// Blocks for 250 ms if the system is out of descriptors, or until `signal` is raised. Does not clear the signal.
    func restIfStarved(until signal: PollableSignal) {
        guard isStarved else { return }
        _ = Poller.wait(reading: [signal.descriptor], until: .now.advanced(by: Self.rest))
    }
}
