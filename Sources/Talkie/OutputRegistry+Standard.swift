internal import AirPlay
public import AirPlayTransport
package import CardOutput
internal import ClassicAirPlay
public import Routing
public import SyncRendering

extension OutputRegistry {
    /// Creates a registry with all outputs of Talkie, this computer's sound cards and AirPlay speakers, and others.
    ///
    /// - Parameters:
    ///   - others: Providers of the application.
    ///   - device: The ALSA device of “this computer”; nil: the system default.
    ///   - replacesLostCards: Whether another card replaces a lost one; false waits for it.
    ///   - phrases: The application's wording of remedies for speakers.
    public convenience init(
        adding others: [any OutputProvider] = [], device: String? = nil, replacesLostCards: Bool = true,
        saying phrases: RemedyPhrases = RemedyPhrases()
    ) {
        let card = SoundCardProvider(device: device, replacesLostCards: replacesLostCards)
        self.init(card: card, saying: phrases, adding: others)
    }

    /// Creates a registry with a provider of sound cards, and all other kinds of outputs. A new kind is added here.
    ///
    /// - Parameters:
    ///   - card: Nil: speakers only.
    ///   - phrases: The wording of remedies.
    ///   - preferences: What the user wants of speakers.
    ///   - trace: Records the conversations with speakers.
    package convenience init(
        card: SoundCardProvider?, saying phrases: RemedyPhrases,
        preferring preferences: SpeakerPreferenceTable = SpeakerPreferenceTable(),
        tracing trace: ConversationTrace? = nil, adding others: [any OutputProvider] = []
    ) {
        let cards: [any OutputProvider] = card.map { [$0] } ?? []
        self.init(
            cards + [
                AirPlayProvider(saying: phrases, preferring: preferences, tracing: trace),
                ClassicAirPlayProvider(saying: phrases, preferring: preferences, tracing: trace),
            ] + others)
    }
}
