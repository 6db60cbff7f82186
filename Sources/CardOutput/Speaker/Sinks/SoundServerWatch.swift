internal import CardPlayout
internal import MediaCore
internal import Synchronization

/// Reports the sinks and streams of the sound server, and the latencies of our own streams. Runs on its own thread,
/// "sound server"; reconnects every 2 s.
final class SoundServerWatch: Sendable {
    private static let interval = Duration.seconds(2)

    private let pulse: PulseLibrary
    private let changed: @Sendable (SoundServerView?) -> PulseConnection.Requests
    private let measured: @Sendable (UInt32, ServerLatency.Measurement?) -> Void
    private let stopping = Atomic<Bool>(false)
    private let isRefreshDue = Atomic<Bool>(false)
    private let tick = Signal()
    /// Wakes the main loop of the connection; nil while there is none.
    private let waker = Lock<(@Sendable () -> Void)?>(nil)

    /// - Parameters:
    ///   - changed: Called on the watch's thread with each view; nil if the server does not respond.
    ///   - measured: Same with each latency of such a stream; nil if the server measures none.
    init(
        _ pulse: PulseLibrary, changed: @escaping @Sendable (SoundServerView?) -> PulseConnection.Requests,
        measured: @escaping @Sendable (UInt32, ServerLatency.Measurement?) -> Void
    ) {
        (self.pulse, self.changed, self.measured) = (pulse, changed, measured)
    }

    /// Starts the thread, which retains the watch. If that fails, the sink stays unknown. Called once.
    func start() {
        // ignored: without a thread the sink is unknown, as without a sound server.
        _ = try? WorkerThread.start(name: "sound server", priority: .elevated) { self.run() }
    }

    /// Requests a new view, also if the server reports no change or has not responded before. Any thread.
    func refresh() {
        isRefreshDue.store(true, ordering: .releasing)
        tick.raise()
        waker.withLock { $0?() }
    }

    /// Makes the thread end, and does not wait for that: the caller may be that thread, or a real-time thread. Closures
    /// may still be called once.
    func stop() {
        stopping.store(true, ordering: .releasing)
        tick.raise()
        waker.withLock { $0?() }
    }

    private func run() {
        while !stopping.load(ordering: .acquiring) {
            runConnection()
            guard !stopping.load(ordering: .acquiring) else { return }
            _ = changed(nil)
            tick.wait(until: .now.advanced(by: Self.interval))
            tick.clear()
        }
    }

    private func runConnection() {
        guard let connection = PulseConnection(pulse, changed: changed, measured: measured) else { return }
        waker.withLock { $0 = connection.waker }
        // The waker must be gone before its main loop is freed.
        defer { withExtendedLifetime(connection) { waker.withLock { $0 = nil } } }
        connection.run(
            isStopping: { self.stopping.load(ordering: .acquiring) },
            isRefreshDue: { self.isRefreshDue.exchange(false, ordering: .acquiringAndReleasing) })
    }
}
