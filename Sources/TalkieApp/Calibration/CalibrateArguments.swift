internal import Calibration
package import MediaCore
internal import Routing

/// The checked arguments of `talkie calibrate`; nothing is open yet.
package struct CalibrateArguments: Sendable {
    /// The method of observation.
    package enum Way: Sendable, Hashable {
        /// A microphone, by its ALSA device.
        case microphone(String)
        /// None: the played events are written to this file for an external recording.
        case emit(String)
        /// An earlier run: a recording or a video, and its events file.
        case analyse(recording: String, events: String)
        /// The user's judgement.
        case eyeAndEar
    }

    var speakers: [SpeakerChoice]
    package var way: Way = .microphone("default")
    /// Nil: the screen selected by the window system.
    package var screen: ScreenChoice?
    /// Whether to use a window instead of full screen; each has its own profiles.
    package var isWindow = false
    /// Whether a light sensor on the second channel is required.
    package var expectsLight = false
    /// Whether to play with the stored corrections and to report what is left, without storing it.
    package var isVerification = false
    /// The number of events per speaker.
    package var events = 12
    package var isJSON = false
    package var plotPath: String?
    /// The volume, 0…100; nil: the owner's setting of each speaker.
    package var volume: Double?
    /// The ALSA device of `local`.
    package var audioDevice: String?
    /// The file for the recording and its times; nil: not kept.
    package var recordingPath: String?

    package init(speakers: [SpeakerChoice]) { self.speakers = speakers }

    /// Parses a number of events per speaker, 10 to 40.
    package static func events(parsing text: String) throws(ValueError) -> Int {
        guard let count = DecimalNumber.integer(text), StimulusPlan.eventRange.contains(count) else {
            throw ValueError(
                "a run has \(StimulusPlan.eventRange.lowerBound) to \(StimulusPlan.eventRange.upperBound) events for each speaker"
            )
        }
        return count
    }

    /// The maximum number of speakers: each has a distinct stimulus.
    package static let maxSpeakers = StimulusPlan.maxSpeakers
}
