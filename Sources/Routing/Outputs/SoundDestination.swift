public import MediaCore
public import SyncRendering

/// Where sound goes, found by the names a person gave: for applications that put a player together themselves.
public struct SoundDestination: Sendable {
    /// Hand it to a player. Several speakers play together.
    public let output: any AudioOutput
    /// What a person should read once.
    public let warnings: [String]
    private let route: SoundRoute

    /// Finds speakers and makes their outputs. Waits up to eight seconds for those that are not there yet.
    ///
    /// - Parameters:
    ///   - speakers: names, identifiers or addresses (`airplay://HOST[:PORT]`), or `local`; none is the local sound card.
    ///   - notice: told what is waited for.
    /// - Throws: status 2 for a name that several have or none can have, 69 for a speaker that is not there or cannot be
    ///   played to, 77 for one that wants a PIN, a password or a right first.
    public init(speakers: [String], notice: @escaping (String) -> Void = { _ in }) throws(TalkieError) {
        var choices: [SpeakerChoice] = []
        for name in speakers {
            do throws(ValueError) {
                choices.append(try SpeakerChoice(parsing: name))
            } catch {
                throw TalkieError(.invalidArgument, error.description)
            }
        }
        route = try SoundRoute(to: choices, device: nil, interruption: Interruption(), notice: notice)
        guard let output = route.output else {
            throw TalkieError(.unavailable, "there is nowhere for the sound to go")
        }
        self.output = output
        warnings = route.warnings
    }

    /// Keeps what was learned about the speakers, for the next time. After the player has been shut down.
    public func remember() { route.remember() }
}
