internal import CardPlayout
internal import MediaCore
internal import Synchronization

/// Reports the sink of the sound server on which this process plays, and the latency there. Runs on its own thread,
/// "sound server"; reconnects every 2 s.
final class SoundServerWatch: Sendable {
    private static let interval = Duration.seconds(2)

    private let pulse: PulseLibrary
    private let changed: @Sendable (SoundServerView?) -> Void
    private let measured: @Sendable (ServerLatency.Measurement?) -> Void
    private let stopping = Atomic<Bool>(false)
    private let tick = Signal()
    private let thread = Lock<WorkerThread?>(nil)
    /// Wakes the main loop of the connection; nil while there is none.
    private let waker = Lock<(@Sendable () -> Void)?>(nil)

    /// - Parameters:
    ///   - changed: Called on the watch's thread with each view; nil if the server does not respond.
    ///   - measured: Same with each latency of our only stream; nil if the server measures none.
    init(
        _ pulse: PulseLibrary, changed: @escaping @Sendable (SoundServerView?) -> Void,
        measured: @escaping @Sendable (ServerLatency.Measurement?) -> Void = { _ in }
    ) {
        (self.pulse, self.changed, self.measured) = (pulse, changed, measured)
    }

    /// Starts the thread. If that fails, the sink stays unknown.
    func start() {
        thread.withLock { thread in
            guard thread == nil else { return }
            // ignored: without a thread the sink is unknown, as without a sound server.
            thread = try? WorkerThread.start(name: "sound server", priority: .elevated) { self.run() }
        }
    }

    /// Stops and joins the thread.
    func stop() {
        stopping.store(true, ordering: .releasing)
        tick.raise()
        waker.withLock { $0?() }
        thread.withLock { $0 }?.join()
    }

    private func run() {
        while !stopping.load(ordering: .acquiring) {
            runConnection()
            guard !stopping.load(ordering: .acquiring) else { return }
            changed(nil)
            measured(nil)
            tick.wait(until: .now.advanced(by: Self.interval))
        }
    }

    private func runConnection() {
        guard let connection = PulseConnection(pulse, changed: changed, measured: measured) else { return }
        waker.withLock { $0 = connection.waker }
        // The waker must be gone before its main loop is freed.
        defer { withExtendedLifetime(connection) { waker.withLock { $0 = nil } } }
        connection.run { self.stopping.load(ordering: .acquiring) }
    }
}
