internal import MediaCore
internal import SyncRendering

/// Makes the next entry current at a gapless boundary, describes the current one in the state, and reports it once.
/// Confined to the player's thread.
final class EntryAnnouncer {
    /// The entry that was reported as current.
    private var announced: Int?
    /// The position that was last interrupted by an interstitial.
    private var interrupted: PlaylistPosition?
    private let context: PlayerContext
    private let tracks: PlaybackTracks
    private let preparation: ItemPreparation
    private let losses: LossReporter
    private let recovery: MediaRecovery

    init(
        context: PlayerContext, tracks: PlaybackTracks, preparation: ItemPreparation, losses: LossReporter,
        recovery: MediaRecovery
    ) {
        (self.context, self.tracks, self.preparation) = (context, tracks, preparation)
        (self.losses, self.recovery) = (losses, recovery)
    }

    private var list: SharedPlaybackList { context.list }
    private var status: PlayerStatus { context.status }

    // MARK: Boundaries

    /// Makes the next entries current once the playhead has reached them. Returns a seek if lost audio is retried.
    func passBoundaries() -> PlaybackAction? {
        while true {
            let entries = list.list.entries
            // Only if the leading track has entered the entry.
            guard entries.count > 1, let begin = entries[1].begin, context.playhead >= begin,
                list.hasEntered(entries[1].serial, tracks.leading)
            else { return nil }
            advance()
            resetRetryPauses()
            announce(isJoined: true)
            // Another item is an occasion to retry lost audio.
            guard tracks.isAudioLost, !entries[1].isLoop else { continue }
            tracks.retryAudio()
            return .seek(to: entries[1].start)
        }
    }

    /// Replaces the current entry by the next one, and reports the end of its item unless that continues.
    func advance() {
        let last = list.current
        if let last { losses.reportRest(of: last) }
        list.update { $0.advance() }
        if let last, list.current?.listPosition.isSamePass(as: last.listPosition) == false {
            status.report(.ended(last.item))
        }
        describe()
    }

    /// Ends the current entry, and reports the end of its item unless that continues. Returns what follows.
    func endEntry() -> [PlaybackAction] {
        if let entry = list.current { losses.reportRest(of: entry) }
        let actions = list.list.actionsAtEnd
        guard let listPosition = list.current?.listPosition else { return actions }
        switch actions.last {
        case .open(let next, _)? where !next.isSamePass(as: listPosition):
            list.update { $0.recordEnded(listPosition) }
            status.report(.ended(listPosition.item))
        case .end?, .waitForReturn?, .waitForPass?: status.report(.ended(listPosition.item))
        default: break
        }
        return actions
    }

    /// Opens failed items without a pause again, because the current one plays.
    func resetRetryPauses() {
        recovery.resetPauses()
        if let entry = list.current { list.update { $0.markPlayed(entry.listPosition) } }
    }

    // MARK: Current entry

    /// Describes the current entry.
    func describe() {
        guard let entry = list.current else { return }
        status.describe(
            entry, of: list.list, subtitleTracks: tracks.subtitles.tracks(of: entry),
            route: tracks.renderer?.routeName)
        if entry.listPosition.interstitialPart != nil { list.update { $0.markSeen(entry.listPosition) } }
    }

    /// Reports the current entry, once.
    ///
    /// - Parameter isJoined: Whether it follows the preceding one gaplessly.
    func announce(isJoined: Bool) {
        guard let entry = list.current, entry.serial != announced else { return }
        announced = entry.serial
        let goesOn = interrupted?.isSamePass(as: entry.listPosition) ?? false
        interrupted = entry.listPosition.interstitialPart == nil ? nil : entry.listPosition
        if entry.listPosition.interstitialPart != nil {
            return status.message("\(entry.title): the film continues after it.")
        }
        let begin = entry.begin ?? context.playhead
        if goesOn { return status.report(.looped(at: begin)) }
        if entry.isLoop {
            preparation.recordLoop(entry)
            return status.report(.looped(at: begin))
        }
        status.report(.began(entry.item, at: begin, isJoined: isJoined))
        if context.options.playsVideo, let remark = context.components.remark(entry.film) { status.message(remark) }
    }
}
