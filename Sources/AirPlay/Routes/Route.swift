/// One way of driving a speaker: the kind of stream and whose time it runs on.
package struct Route: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The word used on the command line, in the timeline and in what is remembered.
    package let rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }

    /// Stream type 103 on PTP time: minutes deep, paused at once.
    package static let buffered = Route(rawValue: "buffered")
    /// Stream type 96 on PTP time.
    package static let realtime = Route(rawValue: "realtime")
    /// Stream type 96 on NTP time, for speakers and computers without PTP.
    package static let realtimeNTP = Route(rawValue: "realtime-ntp")

    /// In the order of preference.
    package static let all = [buffered, realtime, realtimeNTP]

    /// Reads one of the known words; nil for others.
    package init?(word: String) {
        guard let known = Self.all.first(where: { $0.rawValue == word }) else { return nil }
        self = known
    }

    package var needsPTP: Bool { self != .realtimeNTP }
    package var description: String { rawValue }
}

/// Which side's clock a speaker's sound runs on.
package enum ClockRole: String, Hashable, Sendable {
    /// We serve time.
    case grandmaster
    /// The speaker insists on serving time, and we follow.
    case follower
}
