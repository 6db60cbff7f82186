internal import Calibration
package import MediaCore
internal import Routing

/// Everything `talkie calibrate` was told, understood and checked for sense; nothing has been opened yet.
package struct CalibrateArguments: Sendable {
    /// How the run is observed.
    package enum Way: Sendable, Hashable {
        /// By a device that ALSA records from.
        case microphone(String)
        /// By somebody else: what was played is written here.
        case emit(String)
        /// It was played before: a recording, and what was written then.
        case analyse(recording: String, events: String)
        /// By a person.
        case eyeAndEar
    }

    package var speakers: [SpeakerChoice]
    package var way: Way = .microphone("default")
    /// Nil is the screen the window system chooses.
    package var screen: ScreenChoice?
    /// In a window instead of full screen; profiles are kept for each.
    package var isWindow = false
    /// Insist on a light sensor on the second channel.
    package var expectsLight = false
    /// Events for each speaker.
    package var events = 12
    package var isJSON = false
    package var plotPath: String?
    /// Nil leaves every speaker as loud as its owner left it.
    package var volume: Double?
    /// ALSA's name of the card that `local` stands for.
    package var audioDevice: String?
    /// Where to keep what the microphone heard, with its times.
    package var recordingPath: String?

    package init(speakers: [SpeakerChoice]) { self.speakers = speakers }

    /// 10 to 40.
    package static func events(parsing text: String) throws(ValueError) -> Int {
        guard let count = DecimalNumber.whole(text), StimulusPlan.eventRange.contains(count) else {
            throw ValueError(
                "a run has \(StimulusPlan.eventRange.lowerBound) to \(StimulusPlan.eventRange.upperBound) events for each speaker"
            )
        }
        return count
    }

    /// As many as have sounds of their own.
    package static let mostSpeakers = StimulusPlan.mostSpeakers
}
