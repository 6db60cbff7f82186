internal import MediaCore
internal import SyncRendering

/// An additional audio track with separate outputs on the player's synchronizer. Confined to the player's thread.
///
/// The main audio track determines the end of an item's audio; additional tracks play without it or beside it only.
final class AddedSound {
    /// 1 or greater; 0 is the main audio track.
    let number: Int
    let choice: SoundTrackChoice
    let output: any AudioOutput
    let renderer: AudioRenderer
    /// Reads the tracks; nil while no item is open.
    var pipeline: TrackPipeline?
    /// The volume, 0…130; nil: that of the player.
    var volume: Double?
    /// Whether a failure of the output or decoder was reported.
    var isLost = false

    var cursor: SharedPlaybackList.TrackCursor { .sound(number) }

    /// The distance of output IDs between two tracks, so that all outputs have distinct IDs in events.
    private static let spacing = 100

    init(number: Int, choice: SoundTrackChoice, output: any AudioOutput, codecs: any AudioCodecs, events: EventLog) {
        self.number = number
        self.choice = choice
        self.output = output
        renderer = AudioRenderer(codecs: codecs, events: events)
        renderer.setOutput(output, id: OutputID(number * Self.spacing))
    }

    /// Returns the number of the audio track of an output; 0 for the main one.
    static func number(of output: OutputID) -> Int { output.index / spacing }
    /// Returns the number of an output in its group.
    static func member(of output: OutputID) -> Int { output.index % spacing }

    /// Sends the track to a position.
    func seek(to target: TrackTarget) { pipeline?.seek(to: target.time, aim: .exact, serial: target.serial) }

    /// Returns the track of an entry to play; nil if there is none.
    static func track(_ choice: SoundTrackChoice, of entry: PlaybackList.ScheduledItem) -> Track? {
        let track = choice.track(in: entry.film.summary)
        // An input that cannot be opened twice has one reader per track.
        return entry.film.summary.sharesReader && track == entry.audioTrack ? nil : track
    }
}
