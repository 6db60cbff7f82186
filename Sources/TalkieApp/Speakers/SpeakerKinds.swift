internal import AirPlay
internal import AirPlayTransport
internal import ClassicAirPlay
internal import SyncRendering

/// The output providers of the program besides the sound card. A new kind is added here.
enum SpeakerKinds {
    /// Creates the providers.
    ///
    /// - Parameters:
    ///   - phrases: The wording of remedies.
    ///   - preferences: What the user wants of speakers.
    static func all(
        saying phrases: RemedyPhrases = .commands,
        preferring preferences: SpeakerPreferenceTable = SpeakerPreferenceTable()
    ) -> [any OutputProvider] {
        // Both accept every name, so they are last; classic AirPlay plays where AirPlay 2 cannot.
        [
            AirPlayProvider(saying: phrases, preferring: preferences),
            ClassicAirPlayProvider(saying: phrases, preferring: preferences),
        ]
    }

    /// Creates the providers for a session, with what its arguments prefer.
    static func all(for arguments: PlayArguments) -> [any OutputProvider] {
        let others = SpeakerPreferences(route: arguments.speakerRoute)
        let named = arguments.speakers.map { speaker in
            var preferences = speaker.preferences
            preferences.route = preferences.route ?? others.route
            return (speaker.choice.name, preferences)
        }
        return all(preferring: SpeakerPreferenceTable(others, named: named))
    }
}
