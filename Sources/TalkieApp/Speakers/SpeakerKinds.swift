internal import AirPlay
internal import SyncRendering

/// The output providers of the program besides the sound card. A new kind is added here.
enum SpeakerKinds {
    /// Creates the providers.
    ///
    /// - Parameter phrases: The wording of remedies.
    static func all(saying phrases: RemedyPhrases = .commands) -> [any OutputProvider] {
        // AirPlayProvider accepts every name, so it is last.
        [AirPlayProvider(saying: phrases)]
    }
}
