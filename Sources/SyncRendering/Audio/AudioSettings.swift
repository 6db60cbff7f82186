internal import MediaCore

/// The settings of a renderer, which its outputs read.
struct AudioSettings: Sendable {
    /// Media seconds per second of audio; takes effect with a restart.
    var speed = 1.0
    /// As requested.
    var processing = AudioProcessing.none
    var allowsPassThrough = true
    /// The item that the outputs display; nil: none.
    var nowPlaying: NowPlaying?
    /// The linear gain; nil: the outputs keep their own volumes.
    var volume: Float?
    var isMuted = false

    /// The gain of the loudest output, at most 0 dB; the excess is applied to the samples.
    var gain: Float? { isMuted ? 0 : volume.map { min(1, $0) } }

    /// The processing with the part of the volume above 1.
    var amplifiedProcessing: AudioProcessing {
        var processing = processing
        processing.gain *= max(1, volume ?? 1)
        return processing
    }
}
