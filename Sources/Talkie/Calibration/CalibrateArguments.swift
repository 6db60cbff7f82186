/// Everything `talkie calibrate` was told, understood and checked for sense; nothing has been opened yet.
public struct CalibrateArguments: Sendable {
    /// How the run is observed.
    public enum Way: Sendable, Hashable {
        /// By a device that ALSA records from.
        case microphone(String)
        /// By somebody else: what was played is written here.
        case emit(String)
        /// It was played before: a recording, and what was written then.
        case analyse(recording: String, events: String)
        /// By a person.
        case eyeAndEar
    }

    public var speakers: [SpeakerChoice]
    public var way: Way = .microphone("default")
    /// Nil is the screen the window system chooses.
    public var screen: ScreenChoice?
    /// In a window instead of full screen; profiles are kept for each.
    public var isWindow = false
    /// Insist on a light sensor on the second channel.
    public var expectsLight = false
    /// Events for each speaker.
    public var events = 12
    public var isJSON = false
    public var plotPath: String?
    /// Nil leaves every speaker as loud as its owner left it.
    public var volume: Double?
    /// ALSA's name of the card that `local` stands for.
    public var audioDevice: String?
    /// Where to keep what the microphone heard, with its times.
    public var recordingPath: String?

    public init(speakers: [SpeakerChoice]) { self.speakers = speakers }

    /// 10 to 40.
    public static func events(parsing text: String) throws(ValueError) -> Int {
        guard let count = DecimalNumber.whole(text), StimulusPlan.eventRange.contains(count) else {
            throw ValueError(
                "a run has \(StimulusPlan.eventRange.lowerBound) to \(StimulusPlan.eventRange.upperBound) events for each speaker"
            )
        }
        return count
    }

    /// As many as have sounds of their own.
    public static let mostSpeakers = StimulusPlan.mostSpeakers
}
