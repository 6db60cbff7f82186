internal import AirPlay
public import AirPlayTransport
internal import CardOutput
internal import ClassicAirPlay
public import Routing

extension OutputRegistry {
    /// Creates a registry with all outputs of Talkie: this computer's sound cards, and AirPlay speakers.
    ///
    /// - Parameters:
    ///   - device: The ALSA device of “this computer”; nil: the system default.
    ///   - replacesLostCards: Whether another card replaces a lost one; false waits for it.
    ///   - phrases: The application's wording of remedies for speakers.
    public convenience init(
        device: String? = nil, replacesLostCards: Bool = true, saying phrases: RemedyPhrases = RemedyPhrases()
    ) {
        self.init([
            SoundCardProvider(device: device, replacesLostCards: replacesLostCards), AirPlayProvider(saying: phrases),
            ClassicAirPlayProvider(saying: phrases),
        ])
    }
}
