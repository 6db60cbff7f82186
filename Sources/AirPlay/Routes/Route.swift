/// A way to drive a speaker: the stream type and the timing protocol.
package struct Route: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The word in commands, recordings and state files.
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Stream type 103 with PTP timing: minutes of buffer, and immediate pause.
    package static let buffered = Route(rawValue: "buffered")
    /// Stream type 96 with PTP timing.
    package static let realtime = Route(rawValue: "realtime")
    /// Stream type 96 with NTP timing, for speakers and computers without PTP.
    package static let realtimeNTP = Route(rawValue: "realtime-ntp")

    /// All routes in order of preference.
    static let all = [buffered, realtime, realtimeNTP]

    /// Returns a known route; nil for other words.
    init?(word: String) {
        guard let known = Self.all.first(where: { $0.rawValue == word }) else { return nil }
        self = known
    }

    var needsPTP: Bool { self != .realtimeNTP }
    package var description: String { rawValue }
}

/// The side whose clock synchronizes the speaker.
package enum ClockRole: String, Hashable, Sendable {
    /// We serve time.
    case grandmaster = "grandmaster"
    /// The speaker requires its own clock, which we follow.
    case follower = "follower"
}
