package import MediaCore

extension Remedy.Action {
    /// Record a timeline during playback.
    package static let recordTimeline = Self(rawValue: "record-timeline")
    /// Record the audible sound with a software speaker.
    package static let recordSpeaker = Self(rawValue: "record-speaker")
}

extension Remedy {
    static let recordTimeline = Remedy(.recordTimeline, advice: "record one while a film plays")
    static let recordSpeaker = Remedy(.recordSpeaker, advice: "record it with a software speaker; check its name")
}
