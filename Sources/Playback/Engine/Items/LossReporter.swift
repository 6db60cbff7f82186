internal import MediaCore
internal import SyncRendering

/// Reports what could not be read or decoded of an entry, once, when playback has reached it. Confined to the player's
/// thread.
final class LossReporter {
    /// The last reported failure of an incomplete item.
    private var reported: (item: QueueItem.ID, pass: Int, failure: MediaFailure)?
    private let renderer: AudioRenderer?
    private let list: SharedPlaybackList
    private let status: PlayerStatus
    private let checksPackets: Bool

    init(_ context: PlayerContext, _ renderer: AudioRenderer?) {
        (self.renderer, list, status) = (renderer, context.list, context.status)
        checksPackets = context.options.checksPackets
    }

    /// Reports the errors of the current entry up to a time of the timeline.
    ///
    /// - Parameter time: Nil while no position is perceived.
    func reportCurrent(until time: MediaTime?) {
        recordUndecodableAudio()
        guard let time, let entry = list.current else { return }
        report(entry.failure(at: time - (entry.offset ?? .zero)), of: entry)
    }

    /// Reports the errors of an entry that has ended.
    func reportRest(of entry: PlaybackList.ScheduledItem) {
        recordUndecodableAudio()
        report((list.entry(entry.serial) ?? entry).failure(at: nil), of: entry)
    }

    func report(_ failure: MediaFailure?, of entry: PlaybackList.ScheduledItem) {
        guard let failure else { return }
        list.update { list in list.change(entry.serial) { $0.losses.isReported = true } }
        if entry.item.id == status.state.current?.id { status.change { $0.mediaFailure = failure } }
        // An item that loops encounters the same error again.
        let pass = entry.listPosition.listPass
        if let reported, reported == (entry.item.id, pass, failure) { return }
        reported = (entry.item.id, pass, failure)
        status.report(.incomplete(entry.item, failure))
    }

    private func recordUndecodableAudio() {
        guard let lost = renderer?.consumeUndecodableAudio(), !lost.isEmpty else { return }
        let checksPackets = checksPackets
        // What was checked when it was read is recorded already.
        list.update { list in
            for sound in lost {
                list.record(undecodable: sound) { !checksPackets || !PacketCheck.covers($0.audioTrack?.audioFormat) }
            }
        }
    }
}
