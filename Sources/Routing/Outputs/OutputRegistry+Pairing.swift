public import MediaCore
public import SyncRendering

extension OutputRegistry {
    /// Pairs this computer with a destination through the provider of its name. See `PairingProvider.pair`.
    ///
    /// - Throws: As `PairingProvider.pair`; `invalidArgument` for a name without provider, or whose provider does not
    ///   pair.
    public func pair(
        _ name: String, _ action: PairingAction, until interruption: Interruption = Interruption(),
        ask: PairingQuestion?
    ) throws(TalkieError) -> PairingOutcome {
        _ = try provider(for: name)
        var failure: TalkieError?
        for case let provider as any PairingProvider in providers(for: name) {
            do throws(TalkieError) {
                return try provider.pair(name, action, until: interruption, ask: ask)
            } catch {
                // A device that one protocol cannot use may be paired by the next one.
                if failure == nil || error.code != .unsupported { failure = error }
                guard error.code == .unsupported else { break }
            }
        }
        throw failure?.asUnavailable ?? TalkieError(.invalidArgument, "'\(PrintableText.of(name))' needs no pairing")
    }
}
