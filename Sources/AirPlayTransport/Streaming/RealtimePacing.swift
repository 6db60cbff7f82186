internal import AirPlayWire
package import MediaCore
package import PTP

/// Schedules the packets of a realtime stream: each is sent the queue depth before it is heard.
///
/// A linear anchor maps frames to the speaker's clock. A value without clock or socket.
package struct RealtimePacing {
    /// An anchor of the stream.
    package struct Anchor: Sendable {
        /// A frame, by its timestamp on the wire.
        package var position: RTPTimestamp
        /// When that frame is heard, on the speaker's clock.
        package var instant: PTPInstant
        /// The identity of that clock in sync packets; nil with NTP timing.
        package var grandmaster: ClockIdentity?

        package init(position: RTPTimestamp, instant: PTPInstant, grandmaster: ClockIdentity?) {
            (self.position, self.instant, self.grandmaster) = (position, instant, grandmaster)
        }
    }

    /// Receivers overrun if packets follow each other faster (others measured 1 ms).
    package static let spacing: Duration = .milliseconds(1)
    /// A packet that would arrive this short before its time is dropped: some receivers turn late packets into noise.
    package static let lateness: Duration = .milliseconds(40)
    /// Receivers drop the anchor after 7 s without sync packets; other senders use 0.8 to 1 s.
    package static let syncInterval: Duration = .seconds(1)
    /// Sync packets name frames at whole multiples of this step, so that all state exactly the same anchor. 441 frames
    /// are 10 ms at 44.1 kHz.
    private static let syncStep: (frames: Int64, duration: Duration) = (441, .milliseconds(10))

    /// An older anchor is moved forward. RTP timestamps are unambiguous up to half their range, 13.5 h at 44.1 kHz.
    private static let reach: Duration = .seconds(3600)
    /// Seconds between a moved anchor and the present.
    private static let behind: Int64 = 60
    /// An anchor farther away is void: the clock has been replaced.
    private static let maxDistance: Duration = .seconds(30 * 86_400)

    private let sampleRate: Int64
    private let depth: Duration
    package private(set) var anchor: Anchor?
    /// The speaker's clock as currently known. It may change by a few ppm; sent anchors do not.
    package var mapping: ClockMapping<HostInstant, PTPInstant>
    private var earliest = HostInstant(nanoseconds: 0)
    /// When the next sync packet is due.
    package private(set) var nextSync = HostInstant(nanoseconds: 0)
    /// Whether no packet has been sent since the anchor was set.
    package private(set) var isFresh = true
    private var isFirstSync = true

    package init(
        sampleRate: Int, depth: Duration,
        mapping: ClockMapping<HostInstant, PTPInstant> = ClockMapping(
            sourceAnchor: HostInstant(nanoseconds: 0), targetAnchor: PTPInstant(nanoseconds: 0))
    ) {
        self.sampleRate = Int64(sampleRate)
        self.depth = depth
        self.mapping = mapping
    }

    /// Sets the anchor; nil stops.
    package mutating func begin(_ anchor: Anchor?, at now: HostInstant) {
        self.anchor = anchor
        isFresh = true
        isFirstSync = true
        nextSync = now
    }

    /// Returns when a frame is heard; nil without an anchor.
    package func audibleInstant(of timestamp: RTPTimestamp) -> HostInstant? {
        guard let anchor else { return nil }
        let frames = Int64(anchor.position.distance(to: timestamp))
        return mapping.source(at: anchor.instant.advanced(by: .nanoseconds(frames * 1_000_000_000 / sampleRate)))
    }

    /// The action for the next packet.
    package enum Verdict: Equatable {
        case send
        case leaveOut
        case wait(until: HostInstant)
    }

    /// Returns what to do with a packet.
    package func verdict(on timestamp: RTPTimestamp, at now: HostInstant) -> Verdict {
        guard let audibleAt = audibleInstant(of: timestamp) else { return .wait(until: HostInstant(nanoseconds: .max)) }
        if audibleAt < now.advanced(by: Self.lateness) { return .leaveOut }
        let departure = max(audibleAt.advanced(by: .zero - depth), earliest)
        return departure <= now ? .send : .wait(until: departure)
    }

    /// Records that a packet is sent. Returns true for the first one of an anchor.
    package mutating func recordSent(at now: HostInstant) -> Bool {
        defer { isFresh = false }
        earliest = now.advanced(by: Self.spacing)
        return isFresh
    }

    /// Moves the anchor forward by whole seconds, which are whole frames: the timeline is identical to the nanosecond.
    private mutating func advanceAnchor(_ since: Duration) {
        let seconds = since.components.seconds - Self.behind
        anchor = anchor.map { anchor in
            Anchor(
                position: anchor.position.advanced(byFrames: seconds * sampleRate),
                instant: anchor.instant.advanced(by: .seconds(seconds)), grandmaster: anchor.grandmaster)
        }
    }

    /// Returns the sync packet that is due, or nil. Also needed while no packet is sent.
    package mutating func sync(at now: HostInstant) -> [UInt8]? {
        guard let anchor, now >= nextSync else { return nil }
        defer { isFirstSync = false }
        nextSync = now.advanced(by: Self.syncInterval)
        let since = anchor.instant.duration(to: mapping.target(at: now))
        guard since > .zero - Self.maxDistance, since < Self.maxDistance else { return nil }
        if since > Self.reach { advanceAnchor(since) }
        let steps = since.wholeNanoseconds / Self.syncStep.duration.wholeNanoseconds
        let position = anchor.position.advanced(byFrames: steps * Self.syncStep.frames * sampleRate / 44100)
        let instant = anchor.instant.advanced(by: .nanoseconds(steps * Self.syncStep.duration.wholeNanoseconds))
        if let grandmaster = anchor.grandmaster {
            return SyncPacket.ptp(
                position: position, instant: instant, clock: grandmaster.rawValue, isFirst: isFirstSync)
        }
        let latency: Int64 = 88200
        return SyncPacket.ntp(
            next: position.advanced(byFrames: RealtimeControl.networkTimePrecedence + latency), latency: latency,
            time: instant.networkTime, isFirst: isFirstSync)
    }
}
