public import MediaCore
public import SyncRendering

/// The output provider of this computer's sound cards. Any thread.
public final class SoundCardProvider: OutputProvider {
    /// The provider name in `OutputDestination.provider`.
    public let name = "soundcard"

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

    /// Reports the available cards, and again after each change. Blocks until the interruption is raised; polls every 3
    /// s.
    public func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {
        var last: OutputOffer?
        repeat {
            let now = offer(SoundCardProbe.devices)
            if now != last { report(now) }
            last = now
        } while interruption.pause(until: .now.advanced(by: Self.lookInterval))
    }

    /// Returns this computer, followed by its cards if there are several.
    func offer(_ devices: [SoundCardProbe.Device]) -> OutputOffer {
        // One name per card and per digital output; other ALSA names are further paths to the same hardware.
        let cards = devices.filter { $0.name.hasPrefix("sysdefault:CARD=") || $0.name.hasPrefix("hdmi:CARD=") }
        guard cards.count > 1 else { return OutputOffer(destinations: [thisComputer]) }
        let others = cards.filter { $0.name != device }.map { card in
            OutputDestination(
                provider: name, id: Self.prefix + card.name, name: PrintableText.of(card.description), kind: .soundCard)
        }
        return OutputOffer(destinations: [thisComputer] + others)
    }

    private static let prefix = "alsa:"

    /// Listed first.
    public var precedence: ProviderPrecedence { .local }

    /// Certain for `local`.
    public func match(_ name: String) -> NameMatch { name == "local" ? .certain : .none }

    /// Returns the destination of this computer for any name. Does not block.
    public func find(
        _ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void
    ) -> [OutputDestination] { names.isEmpty ? [] : [thisComputer] }

    /// Returns the card of a destination, always the same object for the same ALSA device. Opens nothing.
    public func outputs(at destination: OutputDestination) -> [any AudioOutput] {
        let isOther = destination.id.hasPrefix(Self.prefix)
        return [card(isOther ? String(destination.id.dropFirst(Self.prefix.count)) : device, name: destination.name)]
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
            query: "local", route: "card")
    }
}
