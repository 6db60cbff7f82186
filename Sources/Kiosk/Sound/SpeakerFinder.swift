internal import MediaCore
internal import Routing
internal import SyncRendering
internal import Synchronization

/// Searches for speakers by name until each is found, on its own thread: one search may take seconds.
final class SpeakerFinder: Sendable {
    /// The intervals between searches: short at first, then longer to limit network traffic.
    private static let pauses: [Duration] = [.seconds(2), .seconds(5), .seconds(15), .seconds(30)]

    private let registry: OutputRegistry
    private let report: @Sendable (SoundKeeper.News) -> Void
    /// The names not found yet. Set by `find`; the thread removes found names.
    private let names = Lock<[String]>([])
    private let wake = Signal()
    private let interruption = Interruption()
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// Creates a finder; `start` starts its thread.
    ///
    /// - Parameter report: Called on the finder's thread; must not block.
    init(_ registry: OutputRegistry, report: @escaping @Sendable (SoundKeeper.News) -> Void) {
        (self.registry, self.report) = (registry, report)
    }

    /// Starts the thread.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread.
    func start() throws(ExhaustionError) {
        let worker = try WorkerThread.start(name: "kiosk speakers") { [self] in run() }
        thread.withLock { $0 = worker }
    }

    /// Replaces the names to search for. Returns at once.
    func find(_ names: [String]) {
        self.names.withLock { $0 = names }
        wake.raise()
    }

    /// Cancels the current search and joins the thread.
    func stop() {
        stopping.store(true, ordering: .releasing)
        interruption.raise(status: 0)
        wake.raise()
        thread.withLock { $0?.join() }
    }

    private func run() {
        var round = 0
        var last: [String] = []
        while !stopping.load(ordering: .acquiring) {
            let wanted = names.withLock { $0 }
            if wanted != last { (round, last) = (0, wanted) }
            for name in wanted where !stopping.load(ordering: .acquiring) { look(for: name) }
            let isDone = names.withLock { $0.isEmpty }
            let pause = isDone ? Duration.seconds(3600) : Self.pauses[min(round, Self.pauses.count - 1)]
            round += 1
            wake.wait(until: .now.advanced(by: pause))
            wake.clear()
        }
    }

    private func look(for name: String) {
        do throws(TalkieError) {
            let outputs = try registry.outputs(at: registry.places(named: [name], until: interruption))
            for output in outputs { output.open() }
            names.withLock { $0.removeAll { $0 == name } }
            report(.found(name, outputs))
        } catch {
            if !stopping.load(ordering: .acquiring) { report(.missing(name, error)) }
        }
    }
}
