internal import MediaCore
internal import Routing
internal import SyncRendering
internal import Synchronization

/// Looks for speakers by name until each is there. A thread of its own, because each look may take seconds.
final class SpeakerFinder: Sendable {
    /// Between two rounds: at first soon, and then so that a network hears little of it.
    private static let pauses: [Duration] = [.seconds(2), .seconds(5), .seconds(15), .seconds(30)]

    private let registry: OutputRegistry
    private let report: @Sendable (SoundKeeper.News) -> Void
    private let names = Lock<[String]>([])
    private let wake = Signal()
    private let interruption = Interruption()
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameter report: called on the finder's thread; must return at once.
    init(_ registry: OutputRegistry, report: @escaping @Sendable (SoundKeeper.News) -> Void) {
        (self.registry, self.report) = (registry, report)
    }

    func start() throws(ExhaustionError) {
        let worker = try WorkerThread.start(name: "kiosk speakers") { [self] in run() }
        thread.withLock { $0 = worker }
    }

    /// Looks for these from now on, and for no others.
    func find(_ names: [String]) {
        self.names.withLock { $0 = names }
        wake.raise()
    }

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
