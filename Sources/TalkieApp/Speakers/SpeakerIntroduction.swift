package import MediaCore
internal import Routing
package import SyncRendering

/// `talkie pair`: gets a speaker and this computer acquainted, or forgets what was kept for it.
package struct SpeakerIntroduction {
    private let registry: OutputRegistry

    /// Every kind of speaker that the program knows.
    package init() { self.init(OutputRegistry(SpeakerKinds.all(saying: .pairing))) }

    init(_ registry: OutputRegistry) { self.registry = registry }

    /// Does it on the real network.
    ///
    /// - Parameter ask: nil when nobody can be asked.
    /// - Throws: 2 for words that make no sense, 69 when the speaker is not there, 77 when it refuses, 1 for answers
    ///   that cannot be understood. Keys that the speaker has accepted are kept all the same.
    package func run(_ name: String, _ wish: PairingWish, ask: PairingQuestion?) throws(TalkieError) -> PairingOutcome {
        if name == "local" {
            throw TalkieError(.invalidArgument, "local is this computer's own sound card; name a speaker")
        }
        do {
            return try registry.pair(name, wish, ask: ask)
        } catch {
            throw Self.told(error)
        }
    }

    /// Who could not be asked sits at no terminal.
    static func told(_ error: TalkieError) -> TalkieError {
        guard let remedy = error.remedy, remedy.action == .givePIN, let place = remedy.place else { return error }
        return TalkieError(
            error.code, "'\(place)' will show a PIN, and there is no terminal to type it on",
            remedy: remedy.saying("run this in a terminal, or give the PIN with --pin"))
    }
}
