internal import MediaCore

/// What a run found out about one speaker. Offsets are milliseconds, positive when sound is later than picture.
struct SpeakerAnswer: Sendable, Equatable {
    /// Where the screen's own share comes from.
    enum ScreenShare: Sendable, Equatable {
        /// A light sensor saw it.
        case measured
        /// The display says so itself (EDID).
        case stated
        /// Nobody knows; it is in no number here.
        case unknown
        /// An eye and an ear judged sound and picture together.
        case inside
    }

    /// One event, used or not.
    struct Reading: Sendable, Equatable {
        /// The event's number within the run.
        var event: Int
        /// Seconds since the first event.
        var time: Double
        /// The event's own offset; nil when it has none.
        var offset: Double?
        /// Why it does not count; nil when it does.
        var rejection: String?
    }

    var speaker: CalibrationRecord.Speaker
    var offset: Double
    /// Standard deviation of one event.
    var sigma: Double
    /// Where the offset lies with 95 % probability, as far as chance goes.
    var interval: ClosedRange<Double>
    var readings: [Reading]
    /// How fast sound falls behind, in parts per million, and its standard error; nil where it was not measured.
    var drift: (ppm: Double, error: Double)?
    /// Of the offset: what the sound is late against what was commanded, and the picture.
    var soundRest: Double
    var screenRest: Double
    var screenShare: ScreenShare
    /// In a run with several speakers: how much later than the first one's this one's sound is, and its half width.
    var behindFirst: Double?
    var behindFirstHalfWidth: Double?
    /// False where only differences between speakers mean anything.
    var knowsPicture: Bool

    var used: Int { readings.count { $0.rejection == nil } }
    var rejected: [Reading] { readings.filter { $0.rejection != nil } }
    var verdict: LipSyncVerdict { LipSyncVerdict(offset: offset) }

    static func == (left: SpeakerAnswer, right: SpeakerAnswer) -> Bool {
        left.speaker == right.speaker && left.offset == right.offset && left.sigma == right.sigma
            && left.interval == right.interval && left.readings == right.readings
            && left.drift?.ppm == right.drift?.ppm && left.soundRest == right.soundRest
            && left.screenRest == right.screenRest && left.screenShare == right.screenShare
            && left.behindFirst == right.behindFirst
    }
}

/// How a measurement was taken: decides what it can know.
enum CalibrationWay: String, Sendable {
    /// A microphone, and a light sensor on its second channel.
    case light
    /// A microphone, or a recording, against the moment of the flip.
    case microphone
    /// One microphone, several speakers: differences only.
    case differences
    /// A person's eye and ear.
    case eyeAndEar = "eye-and-ear"
}

/// What a run found out.
struct CalibrationAnswer: Sendable {
    var way: CalibrationWay
    var display: CalibrationRecord.Display?
    var speakers: [SpeakerAnswer]
    /// What a person should know besides.
    var remarks: [String] = []
}
