internal import MediaCore

/// One change of a group's members: the new ones open, learn the time and are filled while the old ones play; then both
/// change over at one film moment.
///
/// `@unchecked Sendable`: `step` is called by one thread at a time, the one that carries out the group's changes.
final class MemberChange: @unchecked Sendable {
    private enum Phase {
        case beginning
        /// Devices open, speakers answer.
        case opening(until: HostInstant)
        /// Clocks are learned.
        case settling(until: HostInstant)
        /// Sound is brought up to this film moment; when, in the group's count of flushes.
        case filling(MediaTime, flushes: Int, until: HostInstant)
        /// Decided for this film moment.
        case decided(MediaTime, flushes: Int)
    }

    /// A speaker that does not answer is given up after this; its connection has deadlines of its own, about as long.
    private static let openingPatience: Duration = .seconds(10)
    /// What clocks need at most: speakers that ask lock within 2.3 s of their first question (`PeerReadiness`), and a
    /// speaker that has not asked for 8 s does not hear us.
    private static let settlingPatience: Duration = .seconds(10)
    private static let fillingPatience: Duration = .seconds(10)
    /// Beyond what the outputs need: to read, decode and hand over the first sound. Doubled each time it was not enough.
    private static let firstAllowance: Duration = .milliseconds(200)
    private static let largestAllowance: Duration = .seconds(3)
    /// A little more than the outputs ask for, because this thread may be late.
    private static let margin: Duration = .milliseconds(5)
    /// After the film moment the old outputs get this long to fade and to say so to their devices.
    private static let tail: Duration = .milliseconds(60)
    /// How often it looks by itself at how far clocks are: a wait that becomes shorter is not announced.
    private static let interval: Duration = .milliseconds(50)

    private let wish: MemberChanges.Wish
    private let group: OutputGroup
    private var phase = Phase.beginning
    private var joining: [MemberFeed] = []
    private var leaving: [MemberFeed] = []
    private var refusals: [RouteChange.Refusal] = []
    private var allowance = MemberChange.firstAllowance
    private(set) var progress: RouteChange.Progress?

    init(_ wish: MemberChanges.Wish, group: OutputGroup) {
        self.wish = wish
        self.group = group
    }

    /// Does what is due; how long nothing will be due unless something moves, or nil when it is over.
    func step() -> Duration? {
        guard let context = group.state.withLock({ $0.context }) else {
            abandon()
            return noteOnly()
        }
        let now = context.timebase.clock.now
        switch phase {
        case .beginning: return begin(context, now)
        case .opening(let deadline): return open(context, now, deadline)
        case .settling(let deadline): return settle(context, now, deadline)
        case .filling(let moment, let flushes, let deadline): return fill(moment, flushes, context, now, deadline)
        case .decided(let moment, let flushes): return conclude(moment, flushes, context, now)
        }
    }

    // MARK: Steps

    /// Nothing is open: the group will be prepared with the new members.
    private func noteOnly() -> Duration? {
        guard !wish.members.isEmpty else { return refuse() }
        let (before, isOpenedAhead) = group.state.withLock { state in
            defer { state.members = wish.members }
            return (state.members, state.isOpenedAhead)
        }
        if isOpenedAhead {
            for member in wish.members where !before.contains(where: { $0 === member }) { member.open() }
            group.close(before.filter { old in !wish.members.contains { $0 === old } })
        }
        return end(.changed(at: nil, without: []))
    }

    private func begin(_ context: AudioOutputContext, _ now: HostInstant) -> Duration? {
        guard !wish.members.isEmpty else { return refuse() }
        let format = group.state.withLock { state -> AudioFormat? in
            for member in wish.members where !state.feeds.contains(where: { $0.member === member }) {
                let feed = group.feed(for: member, role: .joining, context, &state)
                joining.append(feed)
            }
            leaving = state.feeds.filter { feed in !wish.members.contains { $0 === feed.member } }
            state.feeds += joining
            return state.format
        }
        guard let format else { return noteOnly() }
        group.seatFeeders()
        for feed in joining { feed.start(format) }
        phase = .opening(until: now.advanced(by: Self.openingPatience))
        return .zero
    }

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
        phase = .settling(until: now.advanced(by: Self.settlingPatience))
        context.room.raise()
        return .zero
    }

    private func settle(_ context: AudioOutputContext, _ now: HostInstant, _ deadline: HostInstant) -> Duration? {
        if isSuperseded() { return end(.superseded) }
        for feed in joining {
            if let failure = feed.failure {
                leaveOut(feed, failure)
            } else if now >= deadline, let wait = feed.member.wait {
                leaveOut(feed, Self.error(wait))
            }
        }
        if joining.isEmpty, !refusals.isEmpty { return refuse() }
        if let wait = joining.compactMap(\.member.wait).max(by: { $1.outlasts($0) }) {
            progress = .waiting(for: wait)
            return min(Self.interval, deadline - now)
        }
        if now < deadline, let feed = returning(context) {
            progress = .waiting(for: feed.member.wait ?? OutputWait(.sound, of: feed.member.name))
            return min(Self.interval, deadline - now)
        }
        return beginFilling(context, now)
    }

    /// Returns a member that stays, came back a moment ago and is not heard yet; nil where none leaves or the film stands.
    private func returning(_ context: AudioOutputContext) -> MemberFeed? {
        guard !leaving.isEmpty, context.timebase.snapshot.upcoming.rate != 0 else { return nil }
        return group.feeds.first { feed in
            feed.role == .playing && !leaving.contains { $0 === feed } && feed.loss == nil && !feed.member.isAudible
        }
    }

    private static func error(_ wait: OutputWait) -> OutputError {
        let problem =
            switch wait.cause {
            case .opening: "\(wait.output) does not answer."
            case .clock: "\(wait.output) has not learned this computer's time."
            case .ownDelay: "\(wait.output) does not say how late it plays."
            case .sound, .picture, .material: "\(wait.output) takes no sound."
            }
        return OutputError(.unavailable, problem, remedy: wait.cause == .clock ? .checkFirewall : nil)
    }

    /// Brings the new outputs up to a film moment a little ahead, or to where the film stands.
    private func beginFilling(_ context: AudioOutputContext, _ now: HostInstant) -> Duration? {
        progress = .filling
        let ahead = joining.isEmpty ? Self.margin * 4 : allowance
        let snapshot = context.timebase.snapshot
        let wanted = snapshot.mediaTime(at: now.advanced(by: lead + ahead))
        let (moment, flushes) = group.feeding.withLock { _ in
            // However late the renderer's feeder is: the new ones begin with everything that was read.
            group.distribute()
            let (moment, sound, isAll, flushes) = group.state.withLock { state in
                // Where the film stands it goes on from there, to the frame.
                let moment = snapshot.upcoming.rate == 0 ? wanted : state.history.joint(from: wanted)
                return (moment, state.history.sound(from: moment), state.hasFinished, state.flushes)
            }
            for feed in joining { feed.fill(sound, from: moment, isAll: isAll) }
            return (moment, flushes)
        }
        phase = .filling(moment, flushes: flushes, until: now.advanced(by: Self.fillingPatience))
        return .zero
    }

    private func fill(
        _ moment: MediaTime, _ flushes: Int, _ context: AudioOutputContext, _ now: HostInstant, _ deadline: HostInstant
    ) -> Duration? {
        if isSuperseded() { return end(.superseded) }
        guard flushes == group.state.withLock({ $0.flushes }) else { return beginFilling(context, now) }
        for feed in joining {
            if let failure = feed.failure {
                leaveOut(feed, failure)
            } else if now >= deadline, !isFull(feed, moment) {
                leaveOut(feed, OutputError(.failed, "\(feed.member.name) takes no sound."))
            }
        }
        if joining.isEmpty, !refusals.isEmpty { return refuse() }
        let snapshot = context.timebase.snapshot
        let upcoming = snapshot.upcoming
        let areFull = joining.allSatisfy { isFull($0, moment) }
        if upcoming.rate == 0 {
            // A film that stands elsewhere by now has been flushed. In a jump, the new outputs wait for its sound.
            guard areFull else { return deadline - now }
            let stop = snapshot.segment(at: now).rate == 0 ? now : upcoming.hostAnchor
            guard stop <= now else { return stop - now }
            changeOver(at: nil)
            return finish(at: upcoming.mediaAnchor, host: now, context)
        }
        let needed = now.advanced(by: lead + Self.margin)
        guard let host = upcoming.hostInstant(of: moment), host >= needed else {
            // Too late for this moment.
            allowance = min(Self.largestAllowance, allowance * 2)
            return beginFilling(context, now)
        }
        guard areFull else { return min(host - needed, deadline - now) + Self.margin }
        changeOver(at: moment)
        progress = .changing(at: host)
        note(moment, host, context)
        phase = .decided(moment, flushes: flushes)
        return max(.zero, host - now)
    }

    /// Whether an output holds what a start at a film moment needs.
    private func isFull(_ feed: MemberFeed, _ moment: MediaTime) -> Bool {
        let status = feed.renderer.progress
        if status.isDrained { return true }
        guard let until = status.acceptedUntil else { return false }
        return (until - moment).duration >= feed.member.preroll && feed.member.isReadyToStart
    }

    /// How far ahead the change must be known to everybody. What has been handed to a device is not taken back for it.
    private var lead: Duration {
        let stops = leaving.map { feed in
            let latency = feed.member.latency
            return max(latency.stopLead, latency.delay)
        }
        return max(joining.map(\.member.latency.startLead).max() ?? .zero, stops.max() ?? .zero)
    }

    private func changeOver(at moment: MediaTime?) {
        for feed in joining { feed.take(.playing, gate: OutputGate(opens: moment)) }
        for feed in leaving { feed.take(.leaving, gate: OutputGate(closes: moment)) }
        group.state.withLock { state in
            state.members = wish.members.filter { member in state.feeds.contains { $0.member === member } }
        }
    }

    private func note(_ moment: MediaTime, _ host: HostInstant, _ context: AudioOutputContext) {
        for feed in joining { context.events.note(.outputJoined(output: feed.id, media: moment, host: host)) }
        for feed in leaving { context.events.note(.outputLeft(output: feed.id, media: moment, host: host)) }
    }

    private func conclude(
        _ moment: MediaTime, _ flushes: Int, _ context: AudioOutputContext, _ now: HostInstant
    ) -> Duration? {
        let segment = context.timebase.snapshot.segment(at: now)
        // After a jump, or in a pause, everybody is silent: the moment is now.
        let isOvertaken = flushes != group.state.withLock { $0.flushes } || segment.rate == 0
        if !isOvertaken, let host = segment.hostInstant(of: moment) {
            let end = host.advanced(by: Self.tail)
            if now < end { return end - now }
        }
        return finish(at: moment, host: nil, context)
    }

    /// The old outputs are given back; the new ones are heard without limits from now on.
    private func finish(at moment: MediaTime, host: HostInstant?, _ context: AudioOutputContext) -> Duration? {
        if let host { note(moment, host, context) }
        for feed in joining { feed.take(.playing, gate: OutputGate()) }
        remove(leaving)
        context.room.raise()
        return end(.changed(at: moment, without: refusals))
    }

    // MARK: Ends

    /// A newer wish waits, and this one is not decided yet.
    private func isSuperseded() -> Bool {
        guard group.changes.hasWaiting else { return false }
        abandon()
        return true
    }

    private func leaveOut(_ feed: MemberFeed, _ error: OutputError) {
        refusals.append(RouteChange.Refusal(output: feed.member.name, error: error))
        joining.removeAll { $0 === feed }
        remove([feed])
    }

    private func refuse() -> Duration? {
        abandon()
        if refusals.isEmpty {
            let error = OutputError(.unavailable, "Sound needs at least one place to go to; choose one.")
            refusals = [RouteChange.Refusal(output: group.name, error: error)]
        }
        return end(.refused(refusals))
    }

    /// Gives back what was opened; the old outputs play on.
    private func abandon() {
        remove(joining)
        joining = []
    }

    private func remove(_ feeds: [MemberFeed]) {
        guard !feeds.isEmpty else { return }
        group.state.withLock { state in state.feeds.removeAll { feed in feeds.contains { $0 === feed } } }
        group.seatFeeders()
        group.close(feeds)
    }

    private func end(_ outcome: RouteChange) -> Duration? {
        progress = nil
        wish.done(outcome)
        return nil
    }
}
