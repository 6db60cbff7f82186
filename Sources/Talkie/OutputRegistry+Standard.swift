public import AirPlay
internal import LocalOutput
public import Routing

extension OutputRegistry {
    /// Every kind of place that Talkie knows: this computer's sound cards, and AirPlay speakers.
    ///
    /// - Parameters:
    ///   - device: ALSA's name for what “this computer” plays on; nil is the system's default.
    ///   - replacesLostCards: false waits for a card that is lost instead of playing on another.
    ///   - phrases: how the application says what can be done about a speaker that cannot be played to.
    public convenience init(
        device: String? = nil, replacesLostCards: Bool = true, saying phrases: RemedyPhrases = RemedyPhrases()
    ) {
        self.init([
            SoundCardProvider(device: device, replacesLostCards: replacesLostCards), AirPlayProvider(saying: phrases),
        ])
    }
}
