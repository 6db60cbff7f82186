/// The stream type and the timing protocol that a speaker is used with.
package struct Route: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name in commands, recordings and state files.
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Stream type 103 with PTP timing: buffers minutes of audio and pauses at once.
    package static let buffered = Route(rawValue: "buffered")
    /// Stream type 96 with PTP timing.
    package static let realtime = Route(rawValue: "realtime")
    /// Stream type 96 with NTP timing, for speakers and computers without PTP.
    package static let realtimeNTP = Route(rawValue: "realtime-ntp")

    /// Classic AirPlay (RAOP): NTP timing, two seconds of latency.
    package static let classic = Route(rawValue: "classic")

    /// The routes of AirPlay 2 in order of preference.
    package static let all = [buffered, realtime, realtimeNTP]

    /// Returns the route of a name; nil if it is unknown.
    package init?(word: String) {
        guard let known = (Self.all + [.classic]).first(where: { $0.rawValue == word }) else { return nil }
        self = known
    }

    package var needsPTP: Bool { self == .buffered || self == .realtime }
    package var description: String { rawValue }
}

/// The side whose clock synchronizes the speaker.
package enum ClockRole: String, Hashable, Sendable {
    /// We serve time.
    case grandmaster = "grandmaster"
    /// The speaker requires its own clock, which we follow.
    case follower = "follower"
}
