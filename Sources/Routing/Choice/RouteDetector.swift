package import AirPlay
package import LocalOutput
internal import MediaCore
internal import SyncRendering
internal import Synchronization

/// Knows where sound can go, and tells when that changes: this computer's sound cards and the speakers on the network.
///
/// Looking costs a connection to the system's avahi-daemon and, every few seconds, a glance at the sound cards; it
/// begins with the detector and ends with `stop`, or with its last reference. Without a daemon the cards are there, and
/// `note` says what is missing. Any thread.
public final class RouteDetector: Sendable {
    /// What there is at one moment.
    public struct Offer: Hashable, Sendable {
        /// This computer first, then its cards if there are several, then speakers by name.
        public var routes: [OfferedRoute] = []
        /// Why there may be more than is listed, for people.
        public var note: String?

        /// Whether there is anything to choose from.
        public var hasSeveral: Bool { routes.count > 1 }

        public init() {}
    }

    private struct State {
        package var offer = Offer()
        var readers: [Int: AsyncStream<Offer>.Continuation] = [:]
        var nextReader = 0
        var isOver = false
    }

    /// ALSA announces nothing: its list is read this often.
    static let cardInterval: Duration = .seconds(3)

    private let state = Lock(State())
    private let source: (any SpeakerSource)?
    private let interrupt: @Sendable () -> Void
    private let thread = Lock<WorkerThread?>(nil)
    /// Raised when it is over.
    private let ending = Signal()

    /// Begins to look on the real network.
    /// - Parameter device: ALSA's name for what “this computer” plays on; nil is the system's default.
    public convenience init(device: String? = nil) {
        let browser = try? SpeakerBrowser()
        let knowledge = SpeakerKnowledge()
        self.init(
            device: device, source: browser, devices: { SoundCardProbe.devices },
            obstacle: { Self.obstacle($0, knowledge) }, interrupt: { browser?.interrupt() })
    }

    /// - Parameters:
    ///   - devices: asked on the detector's thread.
    ///   - obstacle: why a speaker cannot be played to; asked on the detector's thread.
    ///   - interrupt: makes the source let those go who wait.
    init(
        device: String?, source: (any SpeakerSource)?, devices: @escaping @Sendable () -> [SoundCardProbe.Device],
        obstacle: @escaping @Sendable (SpeakerEntry) -> String?, interrupt: @escaping @Sendable () -> Void
    ) {
        self.source = source
        self.interrupt = interrupt
        let (state, ending) = (state, ending)
        state.withLock { $0.offer.routes = [.thisComputer(device: device)] }
        let worker = WorkerThread.start(name: "route detector", priority: .background) {
            var last = SpeakerBrowser.Snapshot()
            while !state.withLock({ $0.isOver }) {
                let offer = Self.offer(device: device, snapshot: last, devices: devices(), obstacle: obstacle)
                Self.publish(offer, state)
                let next = HostInstant.now.advanced(by: Self.cardInterval)
                if let source {
                    let before = last
                    last =
                        source.wait(until: next) { snapshot in
                            snapshot != before || state.withLock { $0.isOver }
                        }.snapshot
                    // A browser that is over lets everybody go at once.
                    if last == before { ending.wait(until: next) }
                } else {
                    ending.wait(until: next)
                }
            }
        }
        thread.withLock { $0 = worker }
    }

    deinit {
        state.withLock { $0.isOver = true }
        ending.raise()
    }

    /// What there is now.
    public var offer: Offer { state.withLock { $0.offer } }

    /// The present offer and every later one. Whoever reads slowly misses some, never the last. Ends with `stop`.
    public var offers: AsyncStream<Offer> {
        let (stream, reader) = AsyncStream<Offer>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            reader.yield(state.offer)
            guard !state.isOver else { return nil }
            defer { state.nextReader += 1 }
            state.readers[state.nextReader] = reader
            return state.nextReader
        }
        guard let number else {
            reader.finish()
            return stream
        }
        reader.onTermination = { [state] _ in _ = state.withLock { $0.readers.removeValue(forKey: number) } }
        return stream
    }

    /// Looks no longer. Returns as soon as a look that is under way has ended.
    public func stop() {
        let readers = state.withLock { state -> [AsyncStream<Offer>.Continuation] in
            defer { state.readers = [:] }
            state.isOver = true
            return Array(state.readers.values)
        }
        ending.raise()
        interrupt()
        thread.withLock { $0 }?.join()
        for reader in readers { reader.finish() }
    }

    // MARK: What is offered

    package static func offer(
        device: String?, snapshot: SpeakerBrowser.Snapshot, devices: [SoundCardProbe.Device],
        obstacle: (SpeakerEntry) -> String?
    ) -> Offer {
        var offer = Offer()
        offer.routes = [.thisComputer(device: device)]
        // One name for each card, and each of its digital ways out; everything else is another way to the same place.
        let cards = devices.filter { $0.name.hasPrefix("sysdefault:CARD=") || $0.name.hasPrefix("hdmi:CARD=") }
        if cards.count > 1 { offer.routes += cards.filter { $0.name != device }.map(OfferedRoute.card) }
        offer.routes += snapshot.entries
            .map { OfferedRoute.speaker($0, obstacle: obstacle($0)) }
            .sorted { ($0.name.lowercased(), $0.id) < ($1.name.lowercased(), $1.id) }
        if case .unavailable(let error) = snapshot.availability { offer.note = error.message }
        return offer
    }

    private static func publish(_ offer: Offer, _ state: Lock<State>) {
        let readers = state.withLock { state -> [AsyncStream<Offer>.Continuation] in
            guard state.offer != offer else { return [] }
            state.offer = offer
            return Array(state.readers.values)
        }
        for reader in readers { reader.yield(offer) }
    }

    /// What the owner of a speaker has to do first.
    private static func obstacle(_ entry: SpeakerEntry, _ knowledge: SpeakerKnowledge) -> String? {
        let listing = SpeakerListing.list(
            [entry], pairings: knowledge.pairings, routes: knowledge.routes, clockPorts: { _ in .available })
        guard let line = listing.first else { return nil }
        if line.decision.route == nil { return line.decision.reason }
        return line.todo.map { "wants to be paired first; type \($0) in a terminal" }
    }
}
