internal import MediaCore
internal import SyncRendering

/// Describes the current entry in the state and reports it, once. Confined to the player's thread.
final class EntryAnnouncer {
    /// The entry that was reported as current.
    private var announced: Int?
    /// The position that was last interrupted by an interstitial.
    private var interrupted: PlaybackList.Turn?
    private let context: PlayerContext
    private let tracks: PlaybackTracks
    private let preparation: ItemPreparation

    init(_ context: PlayerContext, _ tracks: PlaybackTracks, _ preparation: ItemPreparation) {
        (self.context, self.tracks, self.preparation) = (context, tracks, preparation)
    }

    private var list: SharedPlaybackList { context.list }
    private var status: PlayerStatus { context.status }

    /// Describes the current entry.
    func describe() {
        guard let entry = list.current else { return }
        status.describe(
            entry, of: list.list, subtitleTrack: tracks.subtitles.track(of: entry), route: tracks.renderer?.routeName)
        if entry.turn.aside != nil { list.update { $0.noteSeen(entry.turn) } }
    }

    /// Reports the current entry, once.
    ///
    /// - Parameter isJoined: Whether it follows the preceding one gaplessly.
    func announce(isJoined: Bool) {
        guard let entry = list.current, entry.serial != announced else { return }
        announced = entry.serial
        let goesOn = interrupted?.isSamePass(as: entry.turn) ?? false
        interrupted = entry.turn.aside == nil ? nil : entry.turn
        if entry.turn.aside != nil { return status.message("\(entry.title): the film continues after it.") }
        let begin = entry.begin ?? context.playhead
        if goesOn { return status.report(.looped(at: begin)) }
        if entry.isLoop {
            preparation.noteLoop(entry)
            return status.report(.looped(at: begin))
        }
        status.report(.began(entry.item, at: begin, isJoined: isJoined))
        if context.options.playsVideo, let remark = context.parts.remark(entry.film) { status.message(remark) }
    }
}
