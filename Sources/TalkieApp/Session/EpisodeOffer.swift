internal import MediaCore
internal import Playback

/// Owns the offer of the next episode after a single film. Confined to the session's thread.
final class EpisodeOffer {
    /// How long before the end the next episode is offered; at most a tenth of the film.
    private static let lead = MediaTime(value: 20, timescale: 1)

    /// The next episode, and whether it was offered.
    private var offered: (item: PlaylistLoader.Item, isAnnounced: Bool)? {
        didSet { publish(offered.map { QueueItem($0.item.address).name }) }
    }
    /// Whether episodes are offered: only for a single film without repetition.
    private let isEnabled: Bool
    private let player: Player
    private let console: SessionConsole
    private let publish: (String?) -> Void

    /// - Parameter publish: Receives the name of the next episode, for other threads; nil: none.
    init(_ player: Player, _ console: SessionConsole, isEnabled: Bool, publish: @escaping (String?) -> Void) {
        (self.player, self.console, self.isEnabled, self.publish) = (player, console, isEnabled, publish)
    }

    /// Whether there is a next episode.
    var isAvailable: Bool { offered != nil }

    /// Determines the next episode after a film, if that is the last one and episodes are offered.
    func find(after film: QueueItem) {
        let state = player.state
        guard isEnabled, state.itemNumber == state.itemCount, film.title == nil,
            let next = PlaylistLoader.episode(after: PlaylistLoader.Item(address: film.address))
        else { return offered = nil }
        offered = (next, false)
    }

    /// When the next episode is to be offered; nil if unknown or already done.
    var due: HostInstant? {
        guard let offered, !offered.isAnnounced else { return nil }
        let state = player.state
        guard state.phase == .playing, let offerTime = Self.offerTime(of: state.duration) else { return nil }
        let left = max(MediaTime.zero, offerTime - state.position)
        // At least half a second; a changed speed is applied at the next check.
        return .now.advanced(by: max(.milliseconds(500), .seconds(left.seconds / max(0.1, state.speed))))
    }

    /// Returns the media time at which the episode after a film is offered; nil if its duration is unknown.
    static func offerTime(of duration: MediaTime?) -> MediaTime? {
        duration.map { $0 - min(lead, MediaTime(seconds: $0.seconds / 10)) }
    }

    /// Offers the next episode near the end of the film, once.
    func showIfDue() {
        guard let offered, !offered.isAnnounced else { return }
        let state = player.state
        guard state.phase == .playing, let offerTime = Self.offerTime(of: state.duration), state.position >= offerTime
        else {
            return
        }
        self.offered?.isAnnounced = true
        let name = PrintableText.of(QueueItem(offered.item.address).name)
        console.show("Next: \(name)\n> plays it")
        console.say(.info, "> plays '\(name)' next")
    }

    /// Removes and returns the offered film; nil if there is none.
    func acceptItem() -> PlaylistLoader.Item? {
        defer { offered = nil }
        return offered?.item
    }
}
