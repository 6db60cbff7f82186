internal import MediaCore
internal import Synchronization

/// Listens to the sound server while a card plays through it: on which sink this program is heard, as soon as that
/// changes. A thread of its own, "sound server"; a server that goes is looked for every other second.
final class SoundServerWatch: Sendable {
    private static let interval = Duration.seconds(2)

    private let pulse: PulseLibrary
    private let changed: @Sendable (SoundServerView?) -> Void
    private let stopping = Atomic<Bool>(false)
    private let tick = Signal()
    private let thread = Lock<WorkerThread?>(nil)
    /// Wakes the connection's loop, while there is one.
    private let waker = Lock<(@Sendable () -> Void)?>(nil)

    /// - Parameter changed: told what the server says, nil when it does not answer; on the watch's thread.
    init(_ pulse: PulseLibrary, changed: @escaping @Sendable (SoundServerView?) -> Void) {
        (self.pulse, self.changed) = (pulse, changed)
    }

    /// Where the system gives no thread it is not known where the sound is heard.
    func start() {
        thread.withLock { thread in
            guard thread == nil else { return }
            // ignored: without a thread no sink is known, as without a sound server.
            thread = try? WorkerThread.start(name: "sound server", priority: .background) { self.run() }
        }
    }

    func stop() {
        stopping.store(true, ordering: .releasing)
        tick.raise()
        waker.withLock { $0?() }
        thread.withLock { $0 }?.join()
    }

    private func run() {
        while !stopping.load(ordering: .acquiring) {
            talk()
            guard !stopping.load(ordering: .acquiring) else { return }
            changed(nil)
            tick.wait(until: .now.advanced(by: Self.interval))
        }
    }

    private func talk() {
        guard let connection = PulseConnection(pulse, changed: changed) else { return }
        waker.withLock { $0 = connection.waker }
        // Before the loop that it wakes is freed.
        defer { withExtendedLifetime(connection) { waker.withLock { $0 = nil } } }
        connection.run { self.stopping.load(ordering: .acquiring) }
    }
}
