public import MediaCore
public import SyncRendering

/// The output provider of this computer's sound cards. Any thread.
public final class SoundCardProvider: OutputProvider {
    /// The provider name in `OutputDestination.provider`.
    public var name: String { Self.name }
    private static let name = "soundcard"

    /// The mutable state; guarded by `state`.
    private struct State {
        var cards: [String: SoundCard] = [:]
        var onIdentityChange: @Sendable () -> Void = {}
    }

    /// The poll interval of the device list; ALSA sends no notifications.
    static let lookInterval: Duration = .seconds(3)
    /// The ALSA name of the device selected by its configuration.
    package static let defaultDevice = "default"

    private let state = Lock(State())
    private let device: String
    /// Whether a lost card is replaced by another one.
    private let replacesLostCards: Bool
    private let channels: ChannelChoice

    /// Creates a provider. Opens nothing.
    ///
    /// - Parameters:
    ///   - device: The ALSA name of “this computer”; nil: the system default.
    ///   - replacesLostCards: False: a lost card is waited for and not replaced.
    ///   - channels: The loudspeakers to use.
    public init(device: String? = nil, replacesLostCards: Bool = true, channels: ChannelChoice = .autoSafe) {
        self.device = device ?? Self.defaultDevice
        self.replacesLostCards = replacesLostCards
        self.channels = channels
    }

    /// The destination of the default or user-provided card.
    public var thisComputer: OutputDestination {
        OutputDestination(provider: name, id: "local", name: SoundCard.defaultName, kind: .thisComputer)
    }

    /// Reports the available cards and sinks, and again after each change. Blocks until the interruption is raised.
    /// Polls ALSA every 3 s; the sound server reports its changes.
    public func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {
        let wakeSignal = Signal()
        interruption.onRaise { wakeSignal.raise() }
        let newest = Lock(SoundServerView())
        let registration = SoundServer.shared?.observe { view in
            let isChanged = newest.withLock { newest in
                let view = view ?? SoundServerView()
                defer { newest = view }
                return newest.sinks != view.sinks || newest.host != view.host
            }
            if isChanged { wakeSignal.raise() }
        }
        defer { if let registration { SoundServer.shared?.remove(registration) } }
        var last: OutputOffer?
        while interruption.status == nil {
            let now = offer(SoundCardProbe.devices, server: newest.withLock { $0 })
            if now != last { report(now) }
            last = now
            wakeSignal.wait(until: .now.advanced(by: Self.lookInterval))
            wakeSignal.clear()
        }
    }

    /// Returns this computer, followed by the sinks of its sound server and the cards that have none, if there are
    /// several.
    func offer(
        _ devices: [SoundCardProbe.Device], server: SoundServerView = SoundServerView(),
        number: (Substring) -> Int32 = SoundCardProbe.number(ofCard:)
    ) -> OutputOffer {
        let sinks = server.localSinks
        // A card with a sink is usually in use by the server. One of several digital outputs may have none.
        let own = server.host == nil ? sinks : []
        let served = Set(own.compactMap(\.cardNumber))
        let digital = Set(own.filter { $0.name.contains("hdmi") }.compactMap(\.cardNumber))
        // One name per card and per digital output; other ALSA names are further paths to the same hardware.
        let cards = devices.filter { device in
            [("sysdefault:CARD=", served), ("hdmi:CARD=", digital)].contains { start, served in
                device.name.hasPrefix(start) && !served.contains(number(device.name.dropFirst(start.count)))
            }
        }
        guard cards.count + sinks.count > 1 else { return OutputOffer(destinations: [thisComputer]) }
        let others = cards.filter { $0.name != device }.map { card in
            OutputDestination(
                provider: name, id: Self.prefix + card.name, name: PrintableText.of(card.description), kind: .soundCard)
        }
        return OutputOffer(destinations: [thisComputer] + sinks.map(Self.destination) + others)
    }

    static func destination(of sink: SoundServerView.Sink) -> OutputDestination {
        OutputDestination(
            provider: name, id: SinkAddress.prefix + sink.name, name: PrintableText.of(sink.title), kind: .soundCard)
    }

    private static let prefix = "alsa:"

    /// Listed first.
    public var precedence: ProviderPrecedence { .local }

    /// How long the sound server may take to list its sinks.
    private static let serverTimeout = Duration.milliseconds(500)

    /// Certain for `local`, `sink:NAME`, and the name of a sink of the sound server. Blocks for some milliseconds, at
    /// most 0.5 s.
    public func match(_ name: String) -> NameMatch {
        if name == "local" || SinkAddress.name(in: name) != nil { return .certain }
        guard !name.contains("://") else { return .none }
        return Self.sinks.contains { !$0.isOnNetwork && $0.isNamed(name) } ? .certain : .none
    }

    private static var sinks: [SoundServerView.Sink] { SoundServer.shared?.view(within: serverTimeout)?.sinks ?? [] }

    /// Returns the destinations of names: this computer for `local`, otherwise a sink. May block for 0.5 s.
    ///
    /// - Throws: `unavailable` for a sink that the sound server does not have, `invalidArgument` for a name of several.
    public func find(
        _ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void
    ) throws(TalkieError) -> [OutputDestination] {
        var destinations: [OutputDestination] = []
        for name in names { destinations.append(name == "local" ? thisComputer : try sink(named: name)) }
        return destinations
    }

    private func sink(named name: String) throws(TalkieError) -> OutputDestination {
        let found = Self.sinks.filter { $0.isNamed(name) }
        let text = PrintableText.of(name)
        guard let sink = found.first else {
            throw TalkieError(
                .unavailable, "the sound server has no output '\(text)'; connect the device, or choose another output")
        }
        guard found.count == 1 else {
            throw TalkieError(
                .invalidArgument,
                "several outputs are named '\(text)'; use one of "
                    + found.map { SinkAddress.prefix + $0.name }.joined(separator: ", "))
        }
        return Self.destination(of: sink)
    }

    /// Returns the card of a destination, always the same object for the same device. Opens nothing.
    public func outputs(at destination: OutputDestination) -> [any AudioOutput] {
        let isSink = SinkAddress.name(in: destination.id) != nil
        let device =
            isSink
            ? destination.id
            : destination.id.hasPrefix(Self.prefix)
                ? String(destination.id.dropFirst(Self.prefix.count)) : self.device
        return [card(device, name: destination.name)]
    }

    private func card(_ device: String, name: String) -> SoundCard {
        state.withLock { state in
            if let card = state.cards[device] { return card }
            let card =
                replacesLostCards
                ? SoundCard(device: device, name: name, channels: channels) { SoundCardProbe.substitutes(for: device) }
                : SoundCard(device: device, name: name, channels: channels)
            card.setSinkHandler { [weak self] in self?.state.withLock { $0.onIdentityChange }() }
            state.cards[device] = card
            return card
        }
    }

    /// Returns the identity of a card for calibration profiles; nil for outputs of other providers.
    public func identity(of output: any AudioOutput) -> OutputIdentity? {
        state.withLock { $0.cards.values.first { $0 === output } }?.identity
    }

    /// Sets the handler that is called when the sink of a card becomes known or changes. Called on any thread.
    public func onIdentityChange(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.onIdentityChange = handler }
    }

    /// Returns the profile identity of a sink. The key is empty, and no profile applies, if the sink is unknown.
    ///
    /// - Parameter device: The ALSA name, displayed if the sink is unknown.
    package static func identity(at sink: SinkKnowledge, device: String) -> OutputIdentity {
        OutputIdentity(
            key: sink.sink?.key ?? "",
            name: sink.sink.map { PrintableText.of($0.title) }
                ?? (device == defaultDevice ? SoundCard.defaultName : device),
            query: SinkAddress.name(in: device) == nil ? "local" : device, route: "card")
    }
}
