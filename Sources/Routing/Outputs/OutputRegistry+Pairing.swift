public import MediaCore
public import SyncRendering

extension OutputRegistry {
    /// Gets a place and this computer acquainted; asks the provider that answers to the name. See `PairingProvider.pair`.
    ///
    /// - Throws: as `PairingProvider.pair`; `invalidArgument` for a name that no provider answers to, or whose provider pairs with nobody.
    public func pair(
        _ name: String, _ wish: PairingWish, until interruption: Interruption = Interruption(), ask: PairingQuestion?
    ) throws(TalkieError) -> PairingOutcome {
        guard let provider = try provider(answeringTo: name) as? any PairingProvider else {
            throw TalkieError(.invalidArgument, "'\(PrintableText.of(name))' plays without a pairing")
        }
        return try provider.pair(name, wish, until: interruption, ask: ask)
    }
}
