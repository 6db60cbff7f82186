package import MediaCore
internal import Routing
package import SyncRendering
internal import Talkie

/// Implements `talkie pair`: pairs a speaker with this computer, or removes a pairing.
package struct SpeakerIntroduction {
    private let registry: OutputRegistry

    /// Uses all kinds of speakers.
    package init() { self.init(OutputRegistry(card: nil, saying: .pairing)) }

    init(_ registry: OutputRegistry) { self.registry = registry }

    /// Pairs on the real network. Blocks on network, disk and user.
    ///
    /// - Parameter ask: Asks the user; nil: not interactive.
    /// - Throws: `invalidArgument` for an invalid name, `unavailable` for a missing speaker, `notPermitted` if it
    ///   refuses, `failed` for malformed responses. Keys that the speaker has accepted are stored in any case.
    package func run(_ name: String, _ action: PairingAction, ask: PairingQuestion?) throws(TalkieError)
        -> PairingOutcome
    {
        if name == "local" {
            throw TalkieError(.invalidArgument, "local is this computer's sound card; choose a speaker")
        }
        do {
            return try registry.pair(name, action, ask: ask)
        } catch {
            throw Self.addingRemedy(to: error)
        }
    }

    /// Returns the error with the remedy for a missing terminal.
    static func addingRemedy(to error: TalkieError) -> TalkieError {
        guard let remedy = error.remedy, remedy.action == .givePIN, let destination = remedy.outputName else {
            return error
        }
        return TalkieError(
            error.code, "'\(destination)' will show a PIN, but there is no terminal to type it in",
            remedy: remedy.saying("run this in a terminal, or give the PIN with --pin"))
    }
}
