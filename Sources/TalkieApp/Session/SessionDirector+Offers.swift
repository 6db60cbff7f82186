internal import MediaCore
internal import Playback

// The next episode of a film that was named alone.
extension SessionDirector {
    /// How long before the film's end the next one is offered; in a short film earlier than that would be in its middle.
    private static let lead = MediaTime(value: 20, timescale: 1)

    /// Looks for what could follow the film that has begun, if it is the last of those that were named alone.
    func lookForNext() {
        let item = queue.current
        guard offersNext, queue.number == queue.count, item.title == nil, let next = PlaylistLoader.episode(after: item)
        else { return offered = nil }
        offered = (next, false)
    }

    /// When the next episode is offered; nil while that is not known, or has been done.
    var offerDue: HostInstant? {
        guard let offered, !offered.isTold else { return nil }
        let state = stage.player.state
        guard state.phase == .playing, let moment = moment(of: state) else { return nil }
        let left = max(MediaTime.zero, moment - state.position)
        // Half a second: a speed that is changed is looked at again then.
        return .now.advanced(by: max(.milliseconds(500), .seconds(left.seconds / max(0.1, state.speed))))
    }

    private func moment(of state: PlayerState) -> MediaTime? {
        state.duration.map { $0 - min(Self.lead, MediaTime(seconds: $0.seconds / 10)) }
    }

    /// Offers the next episode near the film's end, once.
    func offerIfDue() {
        guard let offered, !offered.isTold else { return }
        let state = stage.player.state
        guard state.phase == .playing, let moment = moment(of: state), state.position >= moment else { return }
        self.offered?.isTold = true
        let name = PrintableText.of(QueueItem(offered.item.address).name)
        show("Next: \(name)\n> plays it")
        say(.info, "> plays '\(name)' next")
    }

    /// A person wants the film behind the last one; false when there is none.
    func takeOffer() -> Bool {
        guard let offered else { return false }
        self.offered = nil
        queue.append(offered.item)
        return true
    }
}
