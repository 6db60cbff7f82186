internal import MediaCore
internal import SyncRendering

/// An additional audio track with separate outputs on the player's synchronizer. Confined to the player's thread.
///
/// The main audio track determines the end of an item's audio; additional tracks play without it or beside it only.
final class AddedAudioTrack {
    /// 1 or greater; 0 is the main audio track.
    let number: Int
    /// The selection of the track; its pipeline reads it on each entry.
    let choice: Lock<AudioTrackChoice>
    let output: any AudioDestination
    let renderer: AudioRenderer
    /// Reads the tracks; nil while no item is open.
    var pipeline: TrackPipeline?
    /// The volume, 0…130; nil: that of the player.
    var volume: Double?
    /// Whether a failure of the output or decoder was reported.
    var isLost = false
    /// When an output that failed is opened again; nil: not.
    var retry: HostInstant?
    /// The last reported failure.
    var reported: String?
    /// Whether a start has waited for the output in vain: until it is ready, later starts do not wait for it.
    var isLate = false
    private var catchUp = CatchUp()
    /// The removal of obsolete audio in progress, from a time of the timeline on.
    private var cut: (number: Int, time: MediaTime, isFlushing: Bool)?
    /// The number of the last removal.
    private var cutCount = 0

    var cursor: SharedPlaybackList.TrackCursor { .audio(number) }

    /// The distance of output IDs between two tracks, so that all outputs have distinct IDs in events.
    private static let spacing = 100

    init(number: Int, choice: AudioTrackChoice, output: any AudioDestination, codecs: any AudioCodecs, events: EventLog)
    {
        self.number = number
        self.choice = Lock(choice)
        self.output = output
        renderer = AudioRenderer(codecs: codecs, events: events)
        renderer.setOutput(output, id: outputID)
    }

    /// The names of its outputs.
    var outputNames: String {
        let names = (output as? OutputGroup)?.members.map(\.name) ?? []
        return names.isEmpty ? "an output" : PrintableText.of(names.joined(separator: ", "))
    }

    /// The ID of its waits and, of an output without a group, in events.
    var outputID: OutputID { Self.outputID(of: number) }

    static func outputID(of sound: Int) -> OutputID { OutputID(sound * spacing) }

    /// Returns the number of the track to which an output belongs, 0 for the main track, and that of the output in its
    /// group.
    static func trackAndMember(of output: OutputID) -> (sound: Int, member: Int) {
        (output.index / spacing, output.index % spacing)
    }

    /// Sends the track to a position.
    func seek(to target: TrackTarget) {
        (cut, catchUp) = (nil, CatchUp(isNeeded: target.isAlone))
        pipeline?.seek(to: target.time, aim: target.aim, serial: target.serial)
    }

    /// Whether the timeline may be held when the source of the track delivers nothing.
    func mayHold(at moment: MediaTime) -> Bool {
        !catchUp.isUnderWay(pipeline, renderer, at: moment) && !isLost
    }

    /// Stops the pipeline, which blocks until its thread has ended, and removes all media.
    func close() {
        pipeline?.stop()
        (pipeline, cut) = (nil, nil)
        renderer.flush()
        renderer.stopRequestingMediaData()
    }

    // MARK: Removal of obsolete audio

    /// Starts to remove what was read after an entry; what the output holds of it follows in `proceedWithCut`. Returns
    /// false during an earlier removal.
    func cut(after serial: Int, at time: MediaTime) -> Bool {
        guard cut == nil, let pipeline else { return false }
        cutCount += 1
        cut = (cutCount, time, false)
        pipeline.cut(after: serial, number: cutCount)
        return true
    }

    /// Continues a removal once the pipeline has stopped.
    ///
    /// - Parameter flushed: Called with the number of the removal, on the feeder's thread.
    func proceedWithCut(flushed: @escaping @Sendable (Int, PartialFlushResult) -> Void) {
        guard let cut, !cut.isFlushing, let pipeline, pipeline.status.cutNumber == cut.number else { return }
        guard let until = renderer.progress.enqueuedUntil, until > cut.time else {
            self.cut = nil
            return
        }
        self.cut?.isFlushing = true
        renderer.requestFlush(fromSourceTime: cut.time) { flushed(cut.number, $0) }
    }

    /// Ends a removal; returns false if its audio must be read again.
    func endCut(_ number: Int, _ result: PartialFlushResult) -> Bool {
        guard cut?.number == number else { return true }
        cut = nil
        return result.isFlushed
    }
}
