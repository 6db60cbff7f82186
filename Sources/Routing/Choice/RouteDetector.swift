internal import MediaCore
public import SyncRendering

/// Maintains the list of available destinations.
///
/// Each provider runs on a separate thread, from the creation of the detector until `stop` or its release. Obstacles to
/// discovery are in `OutputOffer.note`. Callable from any thread.
public final class RouteDetector: Sendable {
    private let publisher: StateBroadcaster<OutputOffer>
    private let interruption = Interruption()
    private let threads: Lock<[WorkerThread]>

    /// Starts one thread per provider.
    ///
    /// - Parameter known: Destinations that are listed until all providers have reported.
    public init(_ registry: OutputRegistry, known: [OutputDestination] = []) {
        let publisher = StateBroadcaster(OutputOffer(destinations: known))
        let offers = Lock<[OutputOffer?]>(registry.providers.map { _ in nil })
        let interruption = interruption
        self.publisher = publisher
        let report: @Sendable (Int, OutputOffer) -> Void = { number, offer in
            // Merged and published under the lock, so that an older list never replaces a newer one.
            offers.withLock { offers in
                offers[number] = offer
                let merged = Self.merge(offers, known)
                publisher.update { $0 = merged }
            }
        }
        var workers: [WorkerThread] = []
        for (number, provider) in registry.providers.enumerated() {
            do throws(ExhaustionError) {
                workers.append(
                    try WorkerThread.start(name: "route detector", priority: .background) {
                        provider.watch(until: interruption) { report(number, $0) }
                    })
            } catch {
                report(
                    number,
                    OutputOffer(destinations: [], note: "Some speakers cannot be searched for: \(error.message)."))
            }
        }
        threads = Lock(workers)
    }

    deinit {
        interruption.raise(status: 0)
        publisher.finish()
    }

    /// Merges the destinations of one device: the first without an obstacle, otherwise the first that a pairing makes
    /// usable, otherwise the first.
    static func merge(_ destinations: [OutputDestination]) -> [OutputDestination] {
        var merged: [OutputDestination] = []
        for destination in destinations {
            // Two destinations of one provider are two devices, of which one may be forged.
            guard
                let index = merged.firstIndex(where: { $0.id == destination.id && $0.provider != destination.provider })
            else {
                merged.append(destination)
                continue
            }
            let known = merged[index]
            let isBetter =
                known.obstacle != nil
                && (destination.obstacle == nil || known.pairing == nil && destination.pairing != nil)
            if isBetter { merged[index] = destination }
        }
        return merged
    }

    /// Merges the offers; known destinations stay listed until all providers have reported.
    private static func merge(_ offers: [OutputOffer?], _ known: [OutputDestination]) -> OutputOffer {
        var destinations = merge(offers.compactMap { $0 }.flatMap(\.destinations))
        if offers.contains(where: { $0 == nil }) {
            destinations =
                known.filter { destination in !destinations.contains { $0.id == destination.id } } + destinations
        }
        return OutputOffer(destinations: destinations, note: offers.compactMap { $0?.note }.first)
    }

    /// The current offer.
    public var offer: OutputOffer { publisher.value }

    /// The current offer and all later ones. A slow consumer skips offers but always receives the last one. Ends with
    /// `stop`.
    public var offers: AsyncStream<OutputOffer> { publisher.values }

    /// Ends all providers and joins their threads.
    public func stop() {
        interruption.raise(status: 0)
        for thread in threads.withLock({ $0 }) { thread.join() }
        publisher.finish()
    }
}
