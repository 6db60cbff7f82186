package import AirPlay
package import LocalOutput
public import MediaCore
internal import PTP
package import Profiles
public import SyncRendering

/// Makes the outputs behind offered routes, one for each place and always the same one, so that a speaker that is
/// chosen again is the same member. They share one identity and one clock, as speakers of one group must. Any thread.
public final class RouteOutputs: Sendable {
    private struct State {
        package var knowledge: SpeakerKnowledge?
        var clocks: PTPDirectory?
        var cards: [String: SoundCard] = [:]
        package var speakers: [String: DrivenSpeaker] = [:]
        package var title: String?
        var sinkNews: @Sendable () -> Void = {}
    }

    private let state = Lock(State())
    /// Where speakers are found again that have moved.
    private let network = SpeakerNetwork()
    /// Another card takes over from one that is lost.
    private let replacesLostCards: Bool

    /// What plays in the place of sound cards, by ALSA's name; nil is the cards.
    private let standIn: (@Sendable (String) -> any AudioOutput)?

    /// - Parameter replacesLostCards: false waits for a card that is lost instead of playing on another.
    public init(replacesLostCards: Bool = true) {
        self.replacesLostCards = replacesLostCards
        standIn = nil
    }

    /// For tests: other outputs where there would be sound cards; the same one for the same name.
    package init(standIn: @escaping @Sendable (String) -> any AudioOutput) {
        replacesLostCards = false
        self.standIn = standIn
    }

    /// The outputs of a route: one, or the two halves of a stereo pair. May read files; opens nothing.
    ///
    /// - Throws: 69 when it cannot be played to at all, 77 when it wants a PIN or password first or this computer may
    ///   not serve it time.
    public func outputs(for route: OfferedRoute) throws(TalkieError) -> [any AudioOutput] {
        switch route.target {
        case .card(let device): return [standIn?(device) ?? card(device)]
        case .speakers(let members):
            var outputs: [any AudioOutput] = []
            for member in members { outputs.append(try speaker(member, query: member.name).output) }
            return outputs
        }
    }

    /// A sound card by ALSA's name.
    package func card(_ device: String) -> SoundCard {
        state.withLock { state in
            if let card = state.cards[device] { return card }
            let card =
                replacesLostCards
                ? SoundCard(device: device) { SoundCardProbe.substitutes(for: device) } : SoundCard(device: device)
            card.setSinkNews { [weak self] in self?.state.withLock { $0.sinkNews }() }
            state.cards[device] = card
            return card
        }
    }

    /// Wants to hear when a card turns out to be heard at another sink than was known.
    ///
    /// - Parameter news: called on any thread; must return at once. Replaces the one before.
    package func setSinkNews(_ news: @escaping @Sendable () -> Void) { state.withLock { $0.sinkNews = news } }

    /// How calibrations know the speaker behind an output; nil for an output made elsewhere.
    package func calibrated(_ output: any AudioOutput) -> CalibratedOutput? {
        state.withLock { state in
            if let card = state.cards.first(where: { $0.value === output }) {
                return CalibratedOutput.card(card.value.sink, device: card.key)
            }
            return state.speakers.values.first { $0.output === output }?.chosen.calibrated
        }
    }

    /// ALSA's name for the card that its configuration chooses.
    package static let defaultCard = "default"

    /// What this computer keeps, read when it is needed first.
    package var knowledge: SpeakerKnowledge {
        state.withLock { state in
            if let knowledge = state.knowledge { return knowledge }
            let knowledge = SpeakerKnowledge()
            state.knowledge = knowledge
            return knowledge
        }
    }

    /// - Parameter query: how a command names it.
    package func speaker(_ found: DiscoveredSpeaker, query: String) throws(TalkieError) -> DrivenSpeaker {
        let key = Self.key(found)
        if let known = state.withLock({ $0.speakers[key] }) { return known }
        let clocks = clocks
        let chosen = try ChosenSpeaker(found, query: query, knowledge: knowledge) {
            .check(toward: $0, sharing: clocks)
        }
        return speaker(chosen)
    }

    /// The output of a speaker that was chosen already.
    package func speaker(_ chosen: ChosenSpeaker) -> DrivenSpeaker {
        let (knowledge, clocks) = (knowledge, clocks)
        network.start()
        let key = Self.key(chosen.speaker)
        return state.withLock { state in
            if let known = state.speakers[key] { return known }
            let driven = DrivenSpeaker(
                chosen, knowledge: knowledge, sender: knowledge.sender, clocks: clocks, network: network)
            if let title = state.title { driven.output.setTitle(title) }
            state.speakers[key] = driven
            return driven
        }
    }

    /// What plays, for speakers that show it; also for those that are chosen later.
    package func setTitle(_ title: String) {
        let speakers = state.withLock { state in
            state.title = title
            return Array(state.speakers.values)
        }
        for speaker in speakers { speaker.output.setTitle(title) }
    }

    private var clocks: PTPDirectory {
        let identity = knowledge.sender.clock
        return state.withLock { state in
            if let clocks = state.clocks { return clocks }
            let clocks = PTPDirectory(identity: identity)
            state.clocks = clocks
            return clocks
        }
    }

    /// An output follows its speaker to another address by the id; one without an id is known by where it is.
    private static func key(_ speaker: DiscoveredSpeaker) -> String {
        if let id = speaker.id { return "\(id) \(speaker.name)" }
        return "\(speaker.name) \(speaker.endpoint.map { "\($0)" } ?? "")"
    }

    /// Keeps what was learned about the speakers. After they have been released.
    public func remember() {
        let (speakers, knowledge) = state.withLock { (Array($0.speakers.values), $0.knowledge) }
        guard let knowledge else { return }
        for speaker in speakers { speaker.remember(in: knowledge) }
    }
}
