internal import MediaCore
internal import SyncRendering

/// Loads the image of the current item once it plays, if an output displays it. Confined to the player's thread.
final class ItemArtwork {
    /// The entry whose image was requested.
    private var requested: Int?
    private let context: PlayerContext
    private let prefetcher: Prefetcher

    init(_ context: PlayerContext, _ prefetcher: Prefetcher) { (self.context, self.prefetcher) = (context, prefetcher) }

    private var status: PlayerStatus { context.status }

    /// Requests the image of the current entry, once. Its start is not delayed by that.
    ///
    /// - Parameter isDisplayed: Whether an output displays it.
    func load(isDisplayed: @autoclosure () -> Bool) {
        guard status.state.phase == .playing, let entry = context.list.current, entry.serial != requested,
            entry.listPosition.interstitialPart == nil, isDisplayed()
        else { return }
        requested = entry.serial
        // A loop is the same item.
        guard status.state.artwork == nil else { return }
        let item = entry.item
        prefetcher.findArtwork(of: entry.media, allowsFrame: item.isLocal) { [mailbox = context.mailbox] artwork in
            mailbox.post { engine in
                // A cancelled search of an earlier opening of the item finds nothing.
                guard let artwork, engine.state.current?.id == item.id else { return }
                engine.status.change { $0.artwork = artwork }
            }
        }
    }
}
