internal import AirPlay
internal import LocalOutput
internal import PTP
internal import SyncRendering

/// From what a person said about sound to the output that plays it.
enum AudioOutputChoice {
    /// Nil when no sound is wanted. Nothing is opened yet.
    ///
    /// - Throws: status 69 for a speaker that cannot be driven.
    static func output(for arguments: PlayArguments) throws(PlayerFailure) -> (any AudioOutput)? {
        guard arguments.options.playsAudio else { return nil }
        switch arguments.speakers.first {
        case nil, .local: return SoundCard(device: arguments.options.audioDevice ?? "default")
        case .named(let name):
            guard arguments.speakers.count == 1 else {
                throw PlayerFailure(
                    exitStatus: ExitStatus.unavailable,
                    message: "several speakers cannot be driven together yet; name one of them")
            }
            guard let address = SpeakerAddress(url: name) else {
                throw PlayerFailure(
                    exitStatus: ExitStatus.unavailable,
                    message: "speakers cannot be found by name yet; say airplay://HOST[:PORT] in place of '\(name)'")
            }
            let identity = SenderIdentity.random(name: "Talkie")
            return AirPlaySpeaker(
                name: address.description, configuration: .init(address: address, identity: identity),
                clocks: PTPDirectory(identity: identity.clock))
        }
    }
}
