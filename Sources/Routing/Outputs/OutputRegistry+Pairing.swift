public import MediaCore
public import SyncRendering

extension OutputRegistry {
    /// Pairs this computer with a place through the provider of its name. See `PairingProvider.pair`.
    ///
    /// - Throws: As `PairingProvider.pair`; `invalidArgument` for a name without provider, or whose provider does not
    ///   pair.
    public func pair(
        _ name: String, _ wish: PairingWish, until interruption: Interruption = Interruption(), ask: PairingQuestion?
    ) throws(TalkieError) -> PairingOutcome {
        guard let provider = try provider(answeringTo: name) as? any PairingProvider else {
            throw TalkieError(.invalidArgument, "'\(PrintableText.of(name))' needs no pairing")
        }
        return try provider.pair(name, wish, until: interruption, ask: ask)
    }
}
