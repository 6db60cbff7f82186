internal import MediaCore

/// A change of a group's members. The new members open, synchronize their clocks and are filled while the old ones
/// play; then both switch at one media time.
///
/// `@unchecked Sendable`: `step` is called by one thread at a time, the one that performs the group's changes.
final class MemberChange: @unchecked Sendable {
    private enum Phase {
        case beginning
        /// Devices are opening and speakers are connecting.
        case opening(until: HostInstant)
        /// Clocks are synchronizing.
        case settling(until: HostInstant)
        /// Audio is delivered from this media time on; `flushes` is the group's flush count at that time.
        case filling(MediaTime, flushes: Int, until: HostInstant)
        /// The switch at this media time is committed.
        case decided(MediaTime, flushes: Int)
    }

    /// Timeout for an unresponsive speaker; its connection has timeouts of about the same length.
    private static let openingTimeout: Duration = .seconds(10)
    /// Timeout for clocks: speakers that measure lock within 2.3 s of their first request (`PeerReadiness`). A speaker
    /// without a request for 8 s does not receive our messages.
    private static let settlingTimeout: Duration = .seconds(10)
    private static let fillingTimeout: Duration = .seconds(10)
    /// The allowance beyond the outputs' lead for reading, decoding and delivering the first audio. Doubled after each
    /// failure.
    private static let firstAllowance: Duration = .milliseconds(200)
    private static let largestAllowance: Duration = .seconds(3)
    /// A margin for a late run of this thread.
    private static let margin: Duration = .milliseconds(5)
    /// The time after the switch in which the old outputs fade out and notify their devices.
    private static let tail: Duration = .milliseconds(60)
    /// The polling interval of clocks: a wait that becomes shorter raises no signal.
    private static let interval: Duration = .milliseconds(50)

    private let request: MemberChanges.Request
    private let group: OutputGroup
    private var phase = Phase.beginning
    /// The group's use in which the change began.
    private var use: UInt64?
    private var joining: [OutputFeed] = []
    private var leaving: [OutputFeed] = []
    /// The group's members before `changeOver`.
    private var replaced: [any AudioOutput] = []
    /// The leaving outputs cannot see their stop before a scheduled segment has begun.
    private var isStopHidden = false
    private var refusals: [RouteChange.Refusal] = []
    private var allowance = MemberChange.firstAllowance
    /// The state of the change for the user; confined to the thread that calls `step`.
    private(set) var progress: RouteChange.Progress?

    init(_ request: MemberChanges.Request, group: OutputGroup) {
        self.request = request
        self.group = group
    }

    /// Performs due work; returns the time until the next call without a signal, or nil when the change has ended.
    func step() -> Duration? {
        let (current, use) = group.state.withLock { ($0.context, $0.use) }
        guard let context = current else {
            abandon()
            return replaceUnopened()
        }
        if let begun = self.use, begun != use {
            // The group was closed and started again: its feeds are others.
            abandon()
            (leaving, refusals, phase) = ([], [], .beginning)
        }
        self.use = use
        let now = context.timebase.clock.now
        switch phase {
        case .beginning: return begin(context, now)
        case .opening(let deadline): return open(context, now, deadline)
        case .settling(let deadline): return waitForClocks(context, now, deadline)
        case .filling(let time, let flushes, let deadline):
            return fill(from: time, flushes: flushes, context: context, now: now, deadline: deadline)
        case .decided(let time, let flushes):
            return conclude(at: time, flushes: flushes, context: context, now: now)
        }
    }

    // MARK: Steps

    /// Replaces the members of a group that is not open; it will be prepared with the new ones.
    private func replaceUnopened() -> Duration? {
        guard !request.members.isEmpty else { return refuse() }
        let (before, isOpenedAhead) = group.state.withLock { state in
            defer { state.members.outputs = request.members }
            return (state.members.outputs, state.isOpenedAhead)
        }
        if isOpenedAhead {
            for member in request.members where !before.contains(where: { $0 === member }) { member.preopening?.open() }
            group.close(before.filter { old in !request.members.contains { $0 === old } })
        }
        return end(.changed(at: nil, without: []))
    }

    /// Creates the feeds of the new members and starts to open them.
    private func begin(_ context: AudioOutputContext, _ now: HostInstant) -> Duration? {
        guard !request.members.isEmpty else { return refuse() }
        let format = group.state.withLock { state -> AudioFormat? in
            for member in request.members where state.members.feed(of: member) == nil {
                joining.append(group.addFeed(for: member, role: .joining, context, &state))
            }
            leaving = state.members.feeds.filter { feed in !request.members.contains { $0 === feed.member } }
            return state.store?.format(at: context.timebase.currentTime) ?? state.format
        }
        guard let format else { return replaceUnopened() }
        group.applyGains(to: joining)
        for feed in joining { feed.start(format) }
        phase = .opening(until: now.advanced(by: Self.openingTimeout))
        return .zero
    }

    /// Waits until every new member has opened or failed.
    private func open(_ context: AudioOutputContext, _ now: HostInstant, _ deadline: HostInstant) -> Duration? {
        if isSuperseded() { return end(.superseded) }
        let late = now >= deadline
        for feed in joining {
            if let failure = feed.failure {
                leaveOut(feed, failure)
            } else if late, !feed.hasAnswered {
                leaveOut(feed, OutputError(.unavailable, "\(feed.member.name) does not answer."))
            }
        }
        if let feed = joining.first(where: { !$0.hasAnswered }) {
            progress = .waiting(for: OutputWait(.opening, of: feed.member.name))
            return deadline - now
        }
        if joining.isEmpty, !refusals.isEmpty { return refuse() }
        phase = .settling(until: now.advanced(by: Self.settlingTimeout))
        context.writable.raise()
        return .zero
    }

    /// Waits until the clocks of the new members are synchronized.
    private func waitForClocks(_ context: AudioOutputContext, _ now: HostInstant, _ deadline: HostInstant) -> Duration?
    {
        if isSuperseded() { return end(.superseded) }
        for feed in joining {
            if let failure = feed.failure {
                leaveOut(feed, failure)
            } else if now >= deadline, let wait = feed.abilities.starting?.wait {
                leaveOut(feed, Self.error(wait))
            }
        }
        if joining.isEmpty, !refusals.isEmpty { return refuse() }
        if let wait = joining.compactMap({ $0.abilities.starting?.wait }).max(by: { $1.outlasts($0) }) {
            progress = .waiting(for: wait)
            return min(Self.interval, deadline - now)
        }
        if now < deadline, let feed = returning(context) {
            progress = .waiting(for: feed.abilities.starting?.wait ?? OutputWait(.audio, of: feed.member.name))
            return min(Self.interval, deadline - now)
        }
        return beginFilling(context, now, waitsForFlush: now < deadline)
    }

    /// Returns a remaining member that was restored and is not audible yet; nil if none leaves or the timebase is
    /// stopped.
    private func returning(_ context: AudioOutputContext) -> OutputFeed? {
        guard !leaving.isEmpty, context.timebase.snapshot.upcoming.rate != 0 else { return nil }
        return group.feeds.first { feed in
            feed.role == .playing && !leaving.contains { $0 === feed } && feed.loss == nil
                && feed.abilities.recovering?.isAudible == false
        }
    }

    /// Returns the error for a member that failed to become ready.
    private static func error(_ wait: OutputWait) -> OutputError {
        let problem =
            switch wait.cause {
            case .opening: "\(wait.output) does not answer."
            case .clock: "\(wait.output) has not synchronized to this computer's clock."
            case .ownDelay: "\(wait.output) does not report its delay."
            case .audio, .video, .material: "\(wait.output) accepts no audio."
            }
        return OutputError(.unavailable, problem, remedy: wait.cause == .clock ? .checkFirewall : nil)
    }

    /// Fills the new outputs from a media time shortly ahead, or from the current one if the timebase is stopped.
    ///
    /// - Parameters:
    ///   - waitsForFlush: Whether a partial flush of the present members is decided first.
    ///   - deadline: When outputs that are not full are refused; nil: after `fillingTimeout`.
    private func beginFilling(
        _ context: AudioOutputContext, _ now: HostInstant, waitsForFlush: Bool = true,
        until deadline: HostInstant? = nil
    ) -> Duration? {
        progress = .filling
        let ahead = joining.isEmpty ? Self.margin * 4 : allowance
        let snapshot = context.timebase.snapshot
        let wanted = snapshot.mediaTime(at: now.advanced(by: lead + ahead))
        let filled = group.feeding.withLock { _ -> (moment: MediaTime, flushes: Int)? in
            let (store, flushes, flush) = group.state.withLock { ($0.store, $0.flushes, $0.partialFlush) }
            if waitsForFlush, !joining.isEmpty, flush != nil { return nil }
            // A stopped timebase resumes at exactly this frame.
            let time = snapshot.upcoming.rate == 0 ? wanted : store?.boundary(from: wanted) ?? wanted
            for feed in joining { feed.fill(from: time) }
            return (time, flushes)
        }
        if filled != nil { for feed in joining { feed.timebaseDidChange() } }
        guard let filled else {
            // The new outputs would receive audio that is about to be dropped.
            if case .settling = phase { return Self.interval }
            phase = .settling(until: now.advanced(by: Self.settlingTimeout))
            return Self.interval
        }
        phase = .filling(
            filled.moment, flushes: filled.flushes, until: deadline ?? now.advanced(by: Self.fillingTimeout))
        return .zero
    }

    /// Waits until the new outputs are full, then commits the switch or selects a later media time.
    private func fill(
        from time: MediaTime, flushes: Int, context: AudioOutputContext, now: HostInstant, deadline: HostInstant
    ) -> Duration? {
        if isSuperseded() { return end(.superseded) }
        guard flushes == group.flushes else { return beginFilling(context, now) }
        let snapshot = context.timebase.snapshot
        let upcoming = snapshot.upcoming
        let needed = now.advanced(by: lead + Self.margin)
        let host = upcoming.hostInstant(of: time).flatMap { $0 >= needed ? $0 : nil }
        // While the timebase runs, an output may wait for room until the switch is due.
        let mustBeFull = now >= deadline && (upcoming.rate == 0 || host == nil)
        let before = joining.count
        for feed in joining {
            if let failure = feed.failure {
                leaveOut(feed, failure)
            } else if mustBeFull, !isFull(feed, time) {
                leaveOut(feed, OutputError(.failed, "\(feed.member.name) accepts no audio."))
            }
        }
        if joining.isEmpty, !refusals.isEmpty { return refuse() }
        let areFull = joining.allSatisfy { isFull($0, time) }
        if upcoming.rate == 0 {
            // If the stopped timebase has moved, a flush has occurred. During a seek, the new outputs wait for its
            // audio.
            guard areFull else { return deadline - now }
            let stop = snapshot.segment(at: now).rate == 0 ? now : upcoming.hostAnchor
            guard stop <= now else { return stop - now }
            changeOver(at: nil)
            return finish(at: upcoming.mediaAnchor, host: now, context)
        }
        guard let host else {
            // Too late for this media time. After the refusal of an output that was waited for, the allowance of a
            // first attempt may be enough for the others.
            let isFewer = mustBeFull && joining.count < before
            allowance = isFewer ? Self.firstAllowance : min(Self.largestAllowance, allowance * 2)
            return beginFilling(context, now, until: isFewer ? nil : deadline)
        }
        guard areFull else { return host - needed + Self.margin }
        changeOver(at: time)
        progress = .changing(at: host)
        logChange(time, host, context)
        phase = .decided(time, flushes: flushes)
        return max(.zero, host - now)
    }

    /// Returns true if an output holds enough audio for a start at a media time.
    private func isFull(_ feed: OutputFeed, _ time: MediaTime) -> Bool {
        let status = feed.progress
        if status.isDrained { return true }
        guard let until = status.acceptedUntil else { return false }
        return (until - time).duration >= feed.abilities.preroll
            && feed.abilities.starting?.isReadyToStart ?? true
    }

    /// The lead by which the switch must be committed. Audio in a device's queue is not rewound for it; an output with
    /// a negative delay plays its first frame earlier.
    private var lead: Duration {
        let stops = leaving.map { feed in
            let latency = feed.member.latency
            return max(latency.stopLead, latency.delay)
        }
        let starts = joining.map { $0.member.latency.startLead - min(.zero, $0.timebase.delay) }
        return max(starts.max() ?? .zero, stops.max() ?? .zero)
    }

    /// Opens the gates of the new outputs and closes those of the old ones at a media time; nil: now.
    private func changeOver(at time: MediaTime?) {
        for feed in joining { feed.setRole(.playing, gate: OutputGate(opens: time)) }
        for feed in leaving { feed.setRole(.leaving, gate: OutputGate(closes: time)) }
        group.state.withLock { state in
            replaced = state.members.outputs
            state.members.outputs = request.members.filter { state.members.feed(of: $0) != nil }
        }
    }

    /// Undoes `changeOver`: the old outputs play, the new ones are silent.
    private func changeBack() {
        for feed in joining { feed.setRole(.joining, gate: OutputGate(isShut: true)) }
        for feed in leaving { feed.setRole(.playing, gate: OutputGate()) }
        group.state.withLock { $0.members.outputs = replaced }
    }

    /// Logs the members that join and leave.
    private func logChange(_ time: MediaTime, _ host: HostInstant, _ context: AudioOutputContext) {
        for feed in joining { context.events.append(.outputJoined(output: feed.id, media: time, host: host)) }
        for feed in leaving { context.events.append(.outputLeft(output: feed.id, media: time, host: host)) }
    }

    /// Waits for the committed switch and the fade-out.
    private func conclude(
        at time: MediaTime, flushes: Int, context: AudioOutputContext, now: HostInstant
    ) -> Duration? {
        // After a jump all outputs are silent: the moment is now.
        guard flushes == group.flushes else { return finish(at: time, host: nil, context) }
        let snapshot = context.timebase.snapshot
        // Nil where a stop comes before the moment.
        let host = snapshot.hostInstant(of: time, at: now)
        if let next = snapshot.scheduled?.hostAnchor, next > now, let host, host >= next {
            isStopHidden = true
            return next - now
        }
        if isStopHidden {
            // `TimebaseSnapshot.gated` has room for two segments; the stop was the third.
            isStopHidden = false
            for feed in leaving { feed.setRole(.leaving, gate: OutputGate(closes: time)) }
        }
        let end = (host ?? snapshot.upcoming.hostAnchor).advanced(by: Self.tail)
        if now < end { return end - now }
        if snapshot.upcoming.rate == 0, snapshot.upcoming.mediaAnchor < time {
            // The new outputs have no sound for the time from here to the moment.
            changeBack()
            return beginFilling(context, now)
        }
        return finish(at: time, host: nil, context)
    }

    /// Closes the old outputs and removes the gates of the new ones.
    private func finish(at time: MediaTime, host: HostInstant?, _ context: AudioOutputContext) -> Duration? {
        if let host { logChange(time, host, context) }
        for feed in joining { feed.setRole(.playing, gate: OutputGate()) }
        remove(leaving)
        context.writable.raise()
        return end(.changed(at: time, without: refusals))
    }

    // MARK: Ends

    /// Abandons the change if a newer request is pending; returns whether it did. Only valid before the commit.
    private func isSuperseded() -> Bool {
        guard group.changes.hasWaiting else { return false }
        abandon()
        return true
    }

    /// Removes a member that failed from the change.
    private func leaveOut(_ feed: OutputFeed, _ error: OutputError) {
        refusals.append(RouteChange.Refusal(output: feed.member.name, error: error))
        joining.removeAll { $0 === feed }
        remove([feed])
    }

    /// Ends the change without effect.
    private func refuse() -> Duration? {
        abandon()
        if refusals.isEmpty {
            let error = OutputError(.unavailable, "At least one output is required; choose one.")
            refusals = [RouteChange.Refusal(output: group.name, error: error)]
        }
        return end(.refused(refusals))
    }

    /// Closes the new outputs; the old ones continue to play.
    private func abandon() {
        remove(joining)
        joining = []
    }

    private func remove(_ feeds: [OutputFeed]) {
        if !feeds.isEmpty { group.remove(feeds) }
    }

    /// Reports the result; returns nil.
    private func end(_ outcome: RouteChange) -> Duration? {
        progress = nil
        request.done(outcome)
        return nil
    }
}
