internal import AirPlayWire
internal import MediaCore
internal import PTP

/// When a realtime stream's packets leave: each one the queue's depth before it is heard, along one straight line
/// from frames to instants. No clock and no socket inside.
struct RealtimePacing {
    /// Where sound lies in time.
    struct Line: Sendable {
        /// This frame, as the wire names it, …
        var position: RTPTimestamp
        /// … is heard at this instant.
        var instant: HostInstant
        /// The timeline that sync packets name; nil with NTP timing, where it is this computer's own.
        var timeline: PTPTimeline?
    }

    /// Receivers overrun when packets come closer together (measured by others at 1 ms).
    static let spacing: Duration = .milliseconds(1)
    /// A packet that would arrive this short before its moment is left out: late ones are noise on some receivers.
    static let lateness: Duration = .milliseconds(40)
    /// Receivers drop the line after 7 s without; others send every 0.8 to 1 s.
    static let syncInterval: Duration = .seconds(1)
    /// Sync packets name frames a whole number of these from the line's own, so that each says exactly the same line:
    /// 441 frames are 10 ms at 44.1 kHz.
    private static let syncStep: (frames: Int64, duration: Duration) = (441, .milliseconds(10))

    private let sampleRate: Int64
    private let depth: Duration
    private(set) var line: Line?
    private var earliest = HostInstant(nanoseconds: 0)
    /// When the next sync packet is due.
    private(set) var nextSync = HostInstant(nanoseconds: 0)
    /// No packet, and no sync packet, has left on this line yet.
    private(set) var isFresh = true
    private var isFirstSync = true

    init(sampleRate: Int, depth: Duration) {
        self.sampleRate = Int64(sampleRate)
        self.depth = depth
    }

    /// From now on sound lies on this line; nil stops.
    mutating func begin(_ line: Line?, at now: HostInstant) {
        self.line = line
        isFresh = true
        isFirstSync = true
        nextSync = now
    }

    /// When a frame is heard; nil without a line.
    func heard(_ timestamp: RTPTimestamp) -> HostInstant? {
        guard let line else { return nil }
        let frames = Int64(line.position.distance(to: timestamp))
        return line.instant.advanced(by: .nanoseconds(frames * 1_000_000_000 / sampleRate))
    }

    /// What to do with the packet that is next.
    enum Verdict: Equatable {
        case send
        case leaveOut
        case wait(until: HostInstant)
    }

    func verdict(on timestamp: RTPTimestamp, at now: HostInstant) -> Verdict {
        guard let heard = heard(timestamp) else { return .wait(until: HostInstant(nanoseconds: .max)) }
        if heard < now.advanced(by: Self.lateness) { return .leaveOut }
        let departure = max(heard.advanced(by: .zero - depth), earliest)
        return departure <= now ? .send : .wait(until: departure)
    }

    /// A packet leaves; true when it is the line's first.
    mutating func noteSent(at now: HostInstant) -> Bool {
        defer { isFresh = false }
        earliest = now.advanced(by: Self.spacing)
        return isFresh
    }

    /// The sync packet that is due, or nil.
    mutating func sync(at now: HostInstant) -> [UInt8]? {
        guard let line, now >= nextSync else { return nil }
        defer { isFirstSync = false }
        nextSync = now.advanced(by: Self.syncInterval)
        let steps = (now - line.instant).wholeNanoseconds / Self.syncStep.duration.wholeNanoseconds
        let position = line.position.advanced(byFrames: steps * Self.syncStep.frames * sampleRate / 44100)
        let instant = line.instant.advanced(by: .nanoseconds(steps * Self.syncStep.duration.wholeNanoseconds))
        if let timeline = line.timeline {
            return SyncPacket.ptp(
                position: position, instant: timeline.mapping.target(at: instant),
                clock: timeline.grandmaster.rawValue, isFirst: isFirstSync)
        }
        let latency: Int64 = 88200
        return SyncPacket.ntp(
            next: position.advanced(byFrames: RealtimeControl.networkTimePrecedence + latency), latency: latency,
            time: PTPInstant(nanoseconds: instant.nanoseconds).networkTime, isFirst: isFirstSync)
    }
}
