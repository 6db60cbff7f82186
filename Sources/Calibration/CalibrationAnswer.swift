internal import MediaCore
package import Profiles
package import SyncRendering

/// What a run found out about one speaker. Offsets are milliseconds, positive when sound is later than picture.
package struct SpeakerAnswer: Sendable, Equatable {
    /// Where the screen's own share comes from.
    package enum ScreenShare: Sendable, Equatable {
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
    package struct Reading: Sendable, Equatable {
        /// The event's number within the run.
        package var event: Int
        /// Seconds since the first event.
        package var time: Double
        /// The event's own offset; nil when it has none.
        package var offset: Double?
        /// Why it does not count; nil when it does.
        var rejection: String?

        package init(event: Int, time: Double, offset: Double? = nil, rejection: String? = nil) {
            self.event = event
            self.time = time
            self.offset = offset
            self.rejection = rejection
        }
    }

    package var speaker: OutputIdentity
    package var offset: Double
    /// Standard deviation of one event.
    package var sigma: Double
    /// Where the offset lies with 95 % probability, as far as chance goes.
    package var interval: ClosedRange<Double>
    package var readings: [Reading]
    /// How fast sound falls behind, in parts per million, and its standard error; nil where it was not measured.
    var drift: (ppm: Double, error: Double)?
    /// Of the offset: what the sound is late against what was commanded, and the picture.
    package var soundRest: Double
    package var screenRest: Double
    package var screenShare: ScreenShare
    /// In a run with several speakers: how much later than the first one's this one's sound is, and its half width.
    package var behindFirst: Double?
    var behindFirstHalfWidth: Double?
    /// False where only differences between speakers mean anything.
    package var knowsPicture: Bool

    package init(
        speaker: OutputIdentity, offset: Double, sigma: Double, interval: ClosedRange<Double>, readings: [Reading],
        drift: (ppm: Double, error: Double)? = nil, soundRest: Double, screenRest: Double, screenShare: ScreenShare,
        behindFirst: Double? = nil, behindFirstHalfWidth: Double? = nil, knowsPicture: Bool
    ) {
        self.speaker = speaker
        self.offset = offset
        self.sigma = sigma
        self.interval = interval
        self.readings = readings
        self.drift = drift
        self.soundRest = soundRest
        self.screenRest = screenRest
        self.screenShare = screenShare
        self.behindFirst = behindFirst
        self.behindFirstHalfWidth = behindFirstHalfWidth
        self.knowsPicture = knowsPicture
    }

    package var used: Int { readings.count { $0.rejection == nil } }
    var rejected: [Reading] { readings.filter { $0.rejection != nil } }
    package var verdict: LipSyncVerdict { LipSyncVerdict(offset: offset) }

    package static func == (left: SpeakerAnswer, right: SpeakerAnswer) -> Bool {
        left.speaker == right.speaker && left.offset == right.offset && left.sigma == right.sigma
            && left.interval == right.interval && left.readings == right.readings
            && left.drift?.ppm == right.drift?.ppm && left.soundRest == right.soundRest
            && left.screenRest == right.screenRest && left.screenShare == right.screenShare
            && left.behindFirst == right.behindFirst
    }
}

/// What a run found out.
package struct CalibrationAnswer: Sendable {
    package var way: CalibrationWay
    package var display: CalibrationRecord.Display?
    package var speakers: [SpeakerAnswer]
    /// What a person should know besides.
    package var remarks: [String] = []

    package init(
        way: CalibrationWay, display: CalibrationRecord.Display? = nil, speakers: [SpeakerAnswer],
        remarks: [String] = []
    ) {
        self.way = way
        self.display = display
        self.speakers = speakers
        self.remarks = remarks
    }
}
