internal import MediaCore
internal import SyncRendering

/// A further sound track of the films that play, for outputs of its own, on the one synchronizer. Confined to the player's thread.
///
/// The first sound leads: it says where a film's sound ends, and only without it, or beside it, are others heard.
final class AddedSound {
    /// 1 and more; 0 is the first sound.
    let number: Int
    let choice: SoundTrackChoice
    let output: any AudioOutput
    let renderer: AudioRenderer
    /// Reads its tracks; nil while no film is open.
    var pipeline: TrackPipeline?
    /// 0…100; nil is as loud as the player.
    var volume: Double?
    /// Its output or its decoder has refused, which was told.
    var isLost = false

    var walker: SharedPlaybackList.Walker { .sound(number) }

    /// Numbers of outputs between two sounds: events tell all outputs apart.
    private static let spacing = 100

    init(number: Int, choice: SoundTrackChoice, output: any AudioOutput, codecs: any AudioCodecs, events: EventLog) {
        self.number = number
        self.choice = choice
        self.output = output
        renderer = AudioRenderer(codecs: codecs, events: events)
        renderer.setOutput(output, id: OutputID(number * Self.spacing))
    }

    /// The track of an entry that it plays.
    static func track(_ choice: SoundTrackChoice, of entry: PlaybackList.Entry) -> Track? {
        let track = choice.track(in: entry.film.summary)
        // An input that cannot be opened twice has one reader for each track.
        return entry.film.summary.sharesReader && track == entry.audioTrack ? nil : track
    }
}
