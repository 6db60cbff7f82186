internal import AirPlayWire
internal import MediaCore
internal import PTP

/// When a realtime stream's packets leave: each one the queue's depth before it is heard, along one straight line
/// from frames to moments of the clock that the speaker plays by. No clock and no socket inside.
struct RealtimePacing {
    /// Where sound lies in time.
    struct Line: Sendable {
        /// This frame, as the wire names it, …
        var position: RTPTimestamp
        /// … is heard at this moment of the speaker's clock.
        var moment: PTPInstant
        /// Whose clock that is, as sync packets name it; nil with NTP timing.
        var grandmaster: ClockIdentity?
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

    /// The line's own frame follows what is heard when it lies so far behind. Timestamps tell distances up to half their
    /// circle, 13.5 h at 44.1 kHz.
    private static let reach: Duration = .seconds(3600)
    /// It stays so far behind.
    private static let behind: Int64 = 60
    /// No line lies further away: the clock is another one since, and the line void.
    private static let furthest: Duration = .seconds(30 * 86_400)

    private let sampleRate: Int64
    private let depth: Duration
    private(set) var line: Line?
    /// The speaker's clock as known now. What was told stays; when that is here may move by a few ppm.
    var mapping: ClockMapping<HostInstant, PTPInstant>
    private var earliest = HostInstant(nanoseconds: 0)
    /// When the next sync packet is due.
    private(set) var nextSync = HostInstant(nanoseconds: 0)
    /// No packet, and no sync packet, has left on this line yet.
    private(set) var isFresh = true
    private var isFirstSync = true

    init(
        sampleRate: Int, depth: Duration,
        mapping: ClockMapping<HostInstant, PTPInstant> = ClockMapping(
            sourceAnchor: HostInstant(nanoseconds: 0), targetAnchor: PTPInstant(nanoseconds: 0))
    ) {
        self.sampleRate = Int64(sampleRate)
        self.depth = depth
        self.mapping = mapping
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
        return mapping.source(at: line.moment.advanced(by: .nanoseconds(frames * 1_000_000_000 / sampleRate)))
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

    /// Names the line by a later frame of it, so that it lasts for as long as anybody plays: whole seconds are whole frames,
    /// and it stays the same line to the nanosecond.
    private mutating func follow(_ since: Duration) {
        let seconds = since.components.seconds - Self.behind
        line = line.map { line in
            Line(
                position: line.position.advanced(byFrames: seconds * sampleRate),
                moment: line.moment.advanced(by: .seconds(seconds)), grandmaster: line.grandmaster)
        }
    }

    /// The sync packet that is due, or nil. Asked for every second, also while no packet leaves.
    mutating func sync(at now: HostInstant) -> [UInt8]? {
        guard let line, now >= nextSync else { return nil }
        defer { isFirstSync = false }
        nextSync = now.advanced(by: Self.syncInterval)
        let since = line.moment.duration(to: mapping.target(at: now))
        guard since > .zero - Self.furthest, since < Self.furthest else { return nil }
        if since > Self.reach { follow(since) }
        let steps = since.wholeNanoseconds / Self.syncStep.duration.wholeNanoseconds
        let position = line.position.advanced(byFrames: steps * Self.syncStep.frames * sampleRate / 44100)
        let moment = line.moment.advanced(by: .nanoseconds(steps * Self.syncStep.duration.wholeNanoseconds))
        if let grandmaster = line.grandmaster {
            return SyncPacket.ptp(
                position: position, instant: moment, clock: grandmaster.rawValue, isFirst: isFirstSync)
        }
        let latency: Int64 = 88200
        return SyncPacket.ntp(
            next: position.advanced(byFrames: RealtimeControl.networkTimePrecedence + latency), latency: latency,
            time: moment.networkTime, isFirst: isFirstSync)
    }
}
