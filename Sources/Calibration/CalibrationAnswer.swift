internal import MediaCore
package import Profiles
package import SyncRendering

/// The result for one speaker. Offsets are in milliseconds, positive when sound is later than picture.
package struct SpeakerAnswer: Sendable {
    /// The source of the screen's own delay. The raw values are in results and stored profiles.
    package enum ScreenShare: String, Sendable {
        /// Measured by a light sensor.
        case measured = "measured"
        /// Stated by the display (EDID).
        case stated = "stated"
        /// Unknown; not included in the results.
        case unknown = "unknown"
        /// Included: the user compared sound and picture by eye and ear.
        case inside = "inside"
    }

    /// The measurement of one event.
    package struct Reading: Sendable {
        /// The event's index in the run.
        var event: Int
        /// Seconds since the first event.
        var time: Double
        /// The event's offset in milliseconds; nil if it was not detected.
        var offset: Double?
        /// The reason for rejection; nil if the event is used.
        var rejection: String?

        package init(event: Int, time: Double, offset: Double? = nil, rejection: String? = nil) {
            self.event = event
            self.time = time
            self.offset = offset
            self.rejection = rejection
        }
    }

    /// The measured speaker.
    var speaker: OutputIdentity
    /// Sound minus picture in milliseconds.
    var offset: Double
    /// The standard deviation of one event in milliseconds.
    var sigma: Double
    /// The 95 % confidence interval of the offset; random errors only.
    var interval: ClosedRange<Double>
    /// The measurements of all events.
    var readings: [Reading]
    /// The drift of sound against picture in ppm, positive if sound becomes later, and its standard error; nil if not
    /// measured.
    var drift: (ppm: Double, error: Double)?
    /// The delay of the sound relative to its due time, in milliseconds. `offset` is this minus `screenRest`.
    var audioRest: Double
    /// The delay of the picture relative to its due time, in milliseconds.
    var screenRest: Double
    /// The source of the screen's own delay.
    var screenShare: ScreenShare
    /// The delay relative to the first speaker in milliseconds; nil for that speaker.
    var behindFirst: Double?
    /// Half the width of the 95 % confidence interval of `behindFirst`, in milliseconds.
    var behindFirstHalfWidth: Double?
    /// Whether `offset` is valid; false if only differences between speakers were measured.
    var isOffsetKnown: Bool
    /// Half the 95 % confidence interval without the camera's own offset, in milliseconds; nil unless it is a video.
    var randomHalfWidth: Double?

    package init(
        speaker: OutputIdentity, offset: Double, sigma: Double, interval: ClosedRange<Double>, readings: [Reading],
        drift: (ppm: Double, error: Double)? = nil, audioRest: Double, screenRest: Double, screenShare: ScreenShare,
        behindFirst: Double? = nil, behindFirstHalfWidth: Double? = nil, isOffsetKnown: Bool
    ) {
        self.speaker = speaker
        self.offset = offset
        self.sigma = sigma
        self.interval = interval
        self.readings = readings
        self.drift = drift
        self.audioRest = audioRest
        self.screenRest = screenRest
        self.screenShare = screenShare
        self.behindFirst = behindFirst
        self.behindFirstHalfWidth = behindFirstHalfWidth
        self.isOffsetKnown = isOffsetKnown
    }

    /// The number of used events.
    var used: Int { readings.count { $0.rejection == nil } }
    var rejected: [Reading] { readings.filter { $0.rejection != nil } }
    /// The assessment of the offset.
    var verdict: LipSyncVerdict { LipSyncVerdict(offset: offset) }
}

/// The result of a calibration run.
package struct CalibrationAnswer: Sendable {
    /// The method of the measurement.
    var way: CalibrationMethod
    /// The display; nil for a run without a picture.
    var display: CalibrationRecord.Display?
    /// The results per speaker, in the order of the run.
    package var speakers: [SpeakerAnswer]
    /// The index of the speaker whose stored calibration the others were measured against; nil without one.
    package var reference: Int?
    /// Additional notes for the user.
    var remarks: [String] = []

    package init(
        way: CalibrationMethod, display: CalibrationRecord.Display? = nil, speakers: [SpeakerAnswer],
        remarks: [String] = []
    ) {
        self.way = way
        self.display = display
        self.speakers = speakers
        self.remarks = remarks
    }
}
