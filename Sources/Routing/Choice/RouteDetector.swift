internal import MediaCore
public import SyncRendering

/// Knows where sound can go, and tells when that changes.
///
/// Every provider looks on a thread of its own; looking begins with the detector and ends with `stop`, or with its last reference. What a
/// provider misses, `OutputOffer.note` says. Any thread.
public final class RouteDetector: Sendable {
    private let board: BroadcastBoard<OutputOffer>
    private let interruption = Interruption()
    private let threads: Lock<[WorkerThread]>

    /// Begins to look.
    ///
    /// - Parameter known: what is there before anybody has looked.
    public init(_ registry: OutputRegistry, known: [OutputPlace] = []) {
        let board = BroadcastBoard(OutputOffer(places: known))
        let offers = Lock<[OutputOffer?]>(registry.providers.map { _ in nil })
        let interruption = interruption
        self.board = board
        let tell: @Sendable (Int, OutputOffer) -> Void = { number, offer in
            // Together, so that an older list never follows a newer one.
            offers.withLock { offers in
                offers[number] = offer
                let whole = Self.merge(offers, known)
                board.update { $0 = whole }
            }
        }
        var workers: [WorkerThread] = []
        for (number, provider) in registry.providers.enumerated() {
            do throws(ExhaustionError) {
                workers.append(
                    try WorkerThread.start(name: "route detector", priority: .background) {
                        provider.watch(until: interruption) { tell(number, $0) }
                    })
            } catch {
                tell(number, OutputOffer(places: [], note: "Not every speaker can be looked for: \(error.message)."))
            }
        }
        threads = Lock(workers)
    }

    deinit {
        interruption.raise(status: 0)
        board.finish()
    }

    /// Before all providers have looked, what is known stays listed.
    private static func merge(_ offers: [OutputOffer?], _ known: [OutputPlace]) -> OutputOffer {
        var places = offers.compactMap { $0 }.flatMap(\.places)
        if offers.contains(where: { $0 == nil }) {
            places = known.filter { place in !places.contains { $0.id == place.id } } + places
        }
        return OutputOffer(places: places, note: offers.compactMap { $0?.note }.first)
    }

    /// What there is now.
    public var offer: OutputOffer { board.value }

    /// The present offer and every later one. Whoever reads slowly misses some, never the last. Ends with `stop`.
    public var offers: AsyncStream<OutputOffer> { board.values }

    /// Looks no longer. Returns as soon as a look that is under way has ended.
    public func stop() {
        interruption.raise(status: 0)
        for thread in threads.withLock({ $0 }) { thread.join() }
        board.finish()
    }
}
