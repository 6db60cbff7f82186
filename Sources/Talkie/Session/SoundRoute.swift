internal import AirPlay
internal import LocalOutput
internal import PTP
internal import SyncRendering

/// From what a person said about sound to the output that plays it.
enum SoundRoute {
    /// Nil when no sound is wanted.
    ///
    /// - Throws: status 69 for a speaker that cannot be driven.
    static func output(for arguments: PlayArguments) throws(PlayerFailure) -> (any AudioOutput)? {
        guard arguments.options.playsAudio else { return nil }
        switch arguments.speakers.first {
        case nil, .local: return card(arguments.options)
        case .named(let name):
            guard arguments.speakers.count == 1 else {
                throw unavailable("several speakers cannot be driven together yet; name one of them")
            }
            guard let address = SpeakerAddress(url: name) else {
                throw unavailable(
                    "speakers cannot be found by name yet; say airplay://HOST[:PORT] in place of '\(name)'")
            }
            let identity = SenderIdentity.random(name: "Talkie")
            return AirPlaySpeaker(
                name: address.description, configuration: .init(address: address, identity: identity),
                clocks: PTPDirectory(identity: identity.clock))
        }
    }

    /// This computer's card, by the name that was asked for or the system's default. It begins to open in the
    /// background at once, so that it is ready when the film is.
    private static func card(_ options: PlayerOptions) -> SoundCard {
        let card = SoundCard(device: options.audioDevice ?? "default")
        card.open()
        return card
    }

    private static func unavailable(_ message: String) -> PlayerFailure {
        PlayerFailure(exitStatus: ExitStatus.unavailable, message: message)
    }
}
