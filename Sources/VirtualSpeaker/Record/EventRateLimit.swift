internal import MediaCore

/// Bounds how often a speaker reports what any program on the network can cause: bad packets, connections and requests.
struct EventRateLimit {
    /// Bad packets, or connections, within `interval`.
    static let maxEvents = 40
    /// Requests within `interval`: a sender that sets up a session while its volume is turned makes fewer.
    static let maxRequests = 200
    static let interval = Duration.seconds(10)

    private enum Kind: String, CaseIterable {
        case packets = "reports of bad packets"
        case connections = "reports of connections"
        case requests = "reports of requests"

        var maxEvents: Int { self == .requests ? EventRateLimit.maxRequests : EventRateLimit.maxEvents }
    }

    private struct Window {
        var began: HostInstant
        var count = 0
    }

    private var windows: [Kind: Window] = [:]

    /// Counts an event.
    ///
    /// - Returns: Whether to report it, and messages about earlier events that were not reported.
    mutating func admit(_ event: SpeakerEvent, at now: HostInstant) -> (isAdmitted: Bool, summaries: [String]) {
        let summaries = removeSummaries(at: now)
        guard let kind = Self.kind(of: event) else { return (true, summaries) }
        windows[kind, default: Window(began: now)].count += 1
        return (windows[kind]!.count <= kind.maxEvents, summaries)
    }

    /// Returns a message for each expired interval with unreported events; `isLast` includes unexpired ones.
    mutating func removeSummaries(at now: HostInstant, isLast: Bool = false) -> [String] {
        Kind.allCases.compactMap { kind in
            guard let window = windows[kind], isLast || now - window.began >= Self.interval else { return nil }
            windows[kind] = nil
            let omitted = window.count - kind.maxEvents
            guard omitted > 0 else { return nil }
            return "\(omitted) more \(kind.rawValue) within \(Int(Self.interval.inSeconds)) s were omitted"
        }
    }

    private static func kind(of event: SpeakerEvent) -> Kind? {
        switch event {
        case .damaged: .packets
        case .connected, .disconnected: .connections
        case .request: .requests
        default: nil
        }
    }
}
