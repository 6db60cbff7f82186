internal import MediaCore
internal import Sockets

extension TCPListener {
    /// Without a descriptor for the connection that waits the listener stays readable: whoever polls it would never sleep.
    private static let rest: Duration = .milliseconds(250)

    /// Rests a while where the system gives no further descriptor, or until the signal is raised, which it stays.
    func restIfStarved(until signal: PollableSignal) {
        guard isStarved else { return }
        _ = Poller.wait(reading: [signal.descriptor], until: .now.advanced(by: Self.rest))
    }
}
