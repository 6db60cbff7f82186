internal import MediaCore

/// Limits the reports of events that any program on the network can cause: bad packets and connections.
struct EventRateLimit {
    /// Maximum number of reported events of one kind within `interval`.
    static let maxEvents = 40
    static let interval = Duration.seconds(10)

    private enum Kind: String, CaseIterable {
        case packets = "reports of bad packets"
        case connections = "reports of connections"
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
        let summaries = takeSummaries(at: now)
        guard let kind = Self.kind(of: event) else { return (true, summaries) }
        windows[kind, default: Window(began: now)].count += 1
        return (windows[kind]!.count <= Self.maxEvents, summaries)
    }

    /// Returns a message for each expired interval with unreported events; `isLast` includes unexpired ones.
    mutating func takeSummaries(at now: HostInstant, isLast: Bool = false) -> [String] {
        Kind.allCases.compactMap { kind in
            guard let window = windows[kind], isLast || now - window.began >= Self.interval else { return nil }
            windows[kind] = nil
            let omitted = window.count - Self.maxEvents
            guard omitted > 0 else { return nil }
            return "\(omitted) more \(kind.rawValue) within \(Int(Self.interval.inSeconds)) s were left out"
        }
    }

    private static func kind(of event: SpeakerEvent) -> Kind? {
        switch event {
        case .damaged: .packets
        case .connected, .disconnected: .connections
        default: nil
        }
    }
}
