public import MediaCore
public import SyncRendering

/// This computer's sound cards as places for sound. Any thread.
public final class SoundCardProvider: OutputProvider {
    public let name = "soundcard"

    private struct State {
        var cards: [String: SoundCard] = [:]
        var onIdentityChange: @Sendable () -> Void = {}
    }

    /// ALSA announces nothing: its list is read this often.
    static let lookInterval: Duration = .seconds(3)
    /// ALSA's name for the card that its configuration chooses.
    package static let defaultDevice = "default"

    private let state = Lock(State())
    private let device: String
    /// Another card takes over from one that is lost.
    private let replacesLostCards: Bool
    private let channels: ChannelChoice

    /// - Parameters:
    ///   - device: ALSA's name for what “this computer” plays on; nil is the system's default.
    ///   - replacesLostCards: false waits for a card that is lost instead of playing on another.
    ///   - channels: which loudspeakers are played to.
    public init(device: String? = nil, replacesLostCards: Bool = true, channels: ChannelChoice = .autoSafe) {
        self.device = device ?? Self.defaultDevice
        self.replacesLostCards = replacesLostCards
        self.channels = channels
    }

    /// This computer, by whatever card its owner or the command line chose.
    public var thisComputer: OutputPlace {
        OutputPlace(provider: name, id: "local", name: "This computer", kind: .thisComputer)
    }

    public func watch(until interruption: Interruption, _ report: (OutputOffer) -> Void) {
        var last: OutputOffer?
        repeat {
            let now = offer(SoundCardProbe.devices)
            if now != last { report(now) }
            last = now
        } while interruption.pause(until: .now.advanced(by: Self.lookInterval))
    }

    /// This computer first, then its cards if there are several.
    package func offer(_ devices: [SoundCardProbe.Device]) -> OutputOffer {
        // One name for each card, and each of its digital ways out; everything else is another way to the same place.
        let cards = devices.filter { $0.name.hasPrefix("sysdefault:CARD=") || $0.name.hasPrefix("hdmi:CARD=") }
        guard cards.count > 1 else { return OutputOffer(places: [thisComputer]) }
        let others = cards.filter { $0.name != device }.map { card in
            OutputPlace(
                provider: name, id: Self.prefix + card.name, name: PrintableText.of(card.description), kind: .soundCard)
        }
        return OutputOffer(places: [thisComputer] + others)
    }

    private static let prefix = "alsa:"

    public func answers(to name: String) -> Bool { name == "local" }

    public func find(
        _ names: [String], until interruption: Interruption, notice: @escaping (String) -> Void
    ) -> [OutputPlace] { names.isEmpty ? [] : [thisComputer] }

    public func outputs(at place: OutputPlace) -> [any AudioOutput] {
        [card(place.id.hasPrefix(Self.prefix) ? String(place.id.dropFirst(Self.prefix.count)) : device)]
    }

    private func card(_ device: String) -> SoundCard {
        state.withLock { state in
            if let card = state.cards[device] { return card }
            let card =
                replacesLostCards
                ? SoundCard(device: device, channels: channels) { SoundCardProbe.substitutes(for: device) }
                : SoundCard(device: device, channels: channels)
            card.setSinkNews { [weak self] in self?.state.withLock { $0.onIdentityChange }() }
            state.cards[device] = card
            return card
        }
    }

    public func identity(of output: any AudioOutput) -> OutputIdentity? {
        state.withLock { $0.cards.values.first { $0 === output } }?.identity
    }

    public func onIdentityChange(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.onIdentityChange = handler }
    }

    /// What profiles of a card are kept under: the sink that plays. No key, and so no profile, where that is not known.
    ///
    /// - Parameter device: ALSA's name, for people who have no better one.
    package static func identity(at sink: SinkKnowledge, device: String) -> OutputIdentity {
        OutputIdentity(
            key: sink.sink?.key ?? "",
            name: sink.sink.map { PrintableText.of($0.title) } ?? (device == defaultDevice ? "sound card" : device),
            query: "local", route: "card")
    }
}
