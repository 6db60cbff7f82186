internal import MediaCore
internal import Routing
internal import SyncRendering
internal import Synchronization

/// Searches for speakers by name until each is found, on its own thread: one search may take seconds.
final class SpeakerFinder: Sendable {
    /// The intervals between searches: short at first, then longer to limit network traffic.
    private static let pauses: [Duration] = [.seconds(2), .seconds(5), .seconds(15), .seconds(30)]

    /// The progress of the searches.
    private struct Pace {
        var names: [String] = []
        var round = 0
        var due = HostInstant(nanoseconds: 0)
    }

    private let registry: OutputRegistry
    private let clock: any HostClock
    private let report: @Sendable (KioskRouteSupervisor.Event) -> Void
    /// The names not found yet, and whether they were set since the last search. Set by `find`; a search removes found
    /// names.
    private let wanted = Lock<(names: [String], isNew: Bool)>(([], false))
    /// Held during a search; used by the thread, or by the caller of `runDueWork`.
    private let pace = Lock(Pace())
    private let wake = Signal()
    /// Cancels the current search; nil between searches. One for each: an interruption keeps its handlers.
    private let interruption = Lock<Interruption?>(nil)
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// Creates a finder; `start` starts its thread.
    ///
    /// - Parameters:
    ///   - clock: Unless it is `isRealTime`, `start` starts no thread, and the caller calls `runDueWork`.
    ///   - report: Called on the finder's thread; must not block.
    init(
        _ registry: OutputRegistry, clock: any HostClock,
        report: @escaping @Sendable (KioskRouteSupervisor.Event) -> Void
    ) {
        (self.registry, self.clock, self.report) = (registry, clock, report)
    }

    /// Starts the thread.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread.
    func start() throws(ExhaustionError) {
        guard clock.isRealTime else { return }
        let worker = try WorkerThread.start(name: "kiosk speakers") { [self] in
            while !stopping.load(ordering: .acquiring) {
                wake.wait(until: clock.machineInstant(of: searchIfDue()))
                wake.clear()
            }
        }
        thread.withLock { $0 = worker }
    }

    /// Searches if a search is due. No effect with a real-time clock: the thread searches then.
    func runDueWork() { if !clock.isRealTime { _ = searchIfDue() } }

    /// Replaces the names to search for. Returns at once.
    func find(_ names: [String]) {
        wanted.withLock { $0 = (names, true) }
        wake.raise()
    }

    /// Cancels the current search and joins the thread.
    func stop() {
        stopping.store(true, ordering: .releasing)
        interruption.withLock { $0 }?.raise(status: 0)
        wake.raise()
        thread.withLock { $0?.join() }
    }

    /// Searches for new names, and again for missing ones. Returns when the next search is due.
    private func searchIfDue() -> HostInstant {
        pace.withLock { pace in
            let (names, isNew) = wanted.withLock { wanted in
                defer { wanted.isNew = false }
                return wanted
            }
            guard isNew || clock.now >= pace.due else { return pace.due }
            if names != pace.names { (pace.round, pace.names) = (0, names) }
            for name in names { search(for: name) }
            let isDone = wanted.withLock { $0.names.isEmpty }
            let pause = isDone ? Duration.seconds(3600) : Self.pauses[min(pace.round, Self.pauses.count - 1)]
            pace.round += 1
            pace.due = clock.now.advanced(by: pause)
            return pace.due
        }
    }

    private func search(for name: String) {
        let interruption = Interruption()
        self.interruption.withLock { $0 = interruption }
        defer { self.interruption.withLock { $0 = nil } }
        // `stop` has found no search to cancel.
        guard !stopping.load(ordering: .acquiring) else { return }
        do throws(TalkieError) {
            let outputs = try registry.outputs(at: registry.destinations(named: [name], until: interruption))
            for output in outputs { output.preopening?.open() }
            wanted.withLock { $0.names.removeAll { $0 == name } }
            report(.found(name, outputs))
        } catch {
            if !stopping.load(ordering: .acquiring) { report(.missing(name, error)) }
        }
    }
}
