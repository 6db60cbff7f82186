internal import AirPlay
internal import SyncRendering

/// The kinds of speakers that the program knows besides this computer's own sound: a new kind is one more line here.
enum SpeakerKinds {
    /// - Parameter phrases: how they say what can be done.
    static func all(saying phrases: RemedyPhrases = .commands) -> [any OutputProvider] {
        // It answers to every name, so it comes last.
        [AirPlayProvider(saying: phrases)]
    }
}
