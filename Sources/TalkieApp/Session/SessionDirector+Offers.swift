internal import MediaCore
internal import Playback

// The offer of the next episode after a single film.
extension SessionDirector {
    /// How long before the end the next episode is offered; at most a tenth of the film.
    private static let lead = MediaTime(value: 20, timescale: 1)

    /// Determines the next episode after the current film, if that is the last one and episodes are offered.
    func lookForNext() {
        let state = stage.player.state
        guard offersNext, state.itemNumber == state.itemCount, current.title == nil,
            let next = PlaylistLoader.episode(after: PlaylistLoader.Item(address: current.address))
        else { return offered = nil }
        offered = (next, false)
    }

    /// When the next episode is to be offered; nil if unknown or already done.
    var offerDue: HostInstant? {
        guard let offered, !offered.isTold else { return nil }
        let state = stage.player.state
        guard state.phase == .playing, let moment = moment(of: state) else { return nil }
        let left = max(MediaTime.zero, moment - state.position)
        // At least half a second; a changed speed is applied at the next check.
        return .now.advanced(by: max(.milliseconds(500), .seconds(left.seconds / max(0.1, state.speed))))
    }

    private func moment(of state: PlayerState) -> MediaTime? {
        state.duration.map { $0 - min(Self.lead, MediaTime(seconds: $0.seconds / 10)) }
    }

    /// Offers the next episode near the end of the film, once.
    func offerIfDue() {
        guard let offered, !offered.isTold else { return }
        let state = stage.player.state
        guard state.phase == .playing, let moment = moment(of: state), state.position >= moment else { return }
        self.offered?.isTold = true
        let name = PrintableText.of(QueueItem(offered.item.address).name)
        show("Next: \(name)\n> plays it")
        say(.info, "> plays '\(name)' next")
    }

    /// Appends the offered film. Returns false if there is none.
    func takeOffer() -> Bool {
        guard let offered else { return false }
        self.offered = nil
        stage.player.append([item(offered.item)])
        return true
    }
}
