public import MediaCore
internal import Synchronization

/// A start that waits until every renderer can meet it.
public struct PendingStart: Sendable, Hashable {
    /// The requested rate.
    public internal(set) var rate: Float
    /// The media time at which to start; nil: the current one.
    public internal(set) var time: MediaTime?
    /// The earliest instant of the start: until then, outputs are given time to detect that they have to restart.
    public internal(set) var notBefore: HostInstant?
    /// The instant at which `time` is to be presented. Renderers that become ready later start at the media time of
    /// that timeline. Nil: start at `time` once all renderers are ready.
    public internal(set) var appointment: HostInstant?
    /// What the start waits for, the longest wait first. Empty if it waits for `notBefore` only.
    public internal(set) var waits: [OutputWait] = []

    /// Returns the media time and the instant of a start that is not possible before `earliest`.
    package func beginning(from earliest: HostInstant) -> (time: MediaTime?, instant: HostInstant) {
        guard let appointment, let time else { return (time, earliest) }
        if appointment >= earliest { return (time, appointment) }
        let segment = TimebaseSegment(mediaAnchor: time, hostAnchor: appointment, rate: Double(rate))
        return (segment.mediaTime(at: earliest), earliest)
    }
}

extension RenderSynchronizer {
    /// The pending start and what it waits for; nil if there is none. Any thread.
    ///
    /// A start is pending while media or an output is not ready, or after the machine was suspended.
    public var pendingStart: PendingStart? {
        guard var start = roster.withLock({ $0.pending }) else { return nil }
        start.waits = startWaits
        return start
    }

    /// What the renderers wait for, the longest wait first.
    private var startWaits: [OutputWait] {
        renderers.compactMap(\.startWait).sorted { $0.outlasts($1) }
    }

    /// The earliest host instant at which all renderers can meet a start or a change of speed commanded now. Any
    /// thread.
    public var earliestStart: HostInstant {
        let soonest = soonestStart
        return max(soonest, renderers.compactMap(\.earliestStart).max() ?? soonest)
    }

    /// Same, without waiting for outputs that cannot place audio yet; these join later. Any thread.
    package var soonestStart: HostInstant { clock.now.advanced(by: startLead + Self.commandMargin) }

    /// A margin beyond the slowest output's lead for a late commanding thread. Ten times the wake-up latency of a busy
    /// machine.
    private static let commandMargin: Duration = .milliseconds(3)
    /// Media that arrives from a slow source takes less.
    private static let maxUnreportedWait: Duration = .seconds(5)

    /// Starts a pending start at an instant without waiting further. Does nothing if it has begun or was replaced
    /// meanwhile. Any thread.
    package func begin(_ start: PendingStart, notBefore earliest: HostInstant) {
        command.withLock { _ in
            var asked = start
            asked.waits = []
            guard roster.withLock({ $0.pending }) == asked else { return }
            forgetStart()
            let (time, instant) = start.beginning(from: earliest)
            publish(Double(start.rate), time, at: instant)
        }
    }

    // MARK: Under the command lock

    /// Publishes a start if all renderers are ready; otherwise makes it pending.
    ///
    /// - Parameter delays: Whether to wait for media in addition to outputs.
    /// - Returns: The published timeline; nil if the start is pending.
    func beginOrWait(_ start: PendingStart, delays: Bool) -> TimebaseSnapshot? {
        // Before the waits are read: one that ends meanwhile is reported, and the report waits for the command lock.
        isStartOpen.store(true, ordering: .releasing)
        let isTime = start.notBefore.map { $0 <= clock.now } ?? true
        let waits = delays ? startWaits : startWaits.filter { !$0.cause.isMaterial }
        guard isTime, waits.isEmpty else {
            logWait(waits.first)
            roster.withLock { $0.pending = start }
            return nil
        }
        let (time, instant) = start.beginning(from: earliestStart)
        let snapshot = publish(Double(start.rate), time, at: instant)
        roster.withLock { roster in
            roster.pending = nil
            roster.longestWait = nil
            roster.monitor.begin(snapshot, isAppointed: start.appointment != nil)
        }
        return snapshot
    }

    /// Cancels the pending and the monitored start, because of another command.
    func forgetStart() {
        roster.withLock { roster in
            roster.pending = nil
            roster.longestWait = nil
            roster.monitor.end()
        }
        isStartOpen.store(false, ordering: .releasing)
    }

    /// Checks the pending start, or a start that was announced and has not occurred.
    func checkStart() {
        let (pending, delays) = roster.withLock { ($0.pending, $0.delaysStarts) }
        if let pending {
            _ = beginOrWait(pending, delays: delays)
            return
        }
        let renderers = renderers
        let isReady = renderers.allSatisfy { $0.startWait?.cause.isMaterial ?? true }
        let earliest = renderers.compactMap(\.earliestStart).max()
        let snapshot = timebase.snapshot
        let verdict = roster.withLock {
            $0.monitor.verdict(snapshot, isReady: isReady, earliest: earliest, now: clock.now)
        }
        switch verdict {
        case .leave: if !roster.withLock({ $0.monitor.isWatching }) { isStartOpen.store(false, ordering: .releasing) }
        case .hold(let instant):
            publish(0, instant, at: nil)
            _ = beginOrWait(renewed(snapshot, from: instant), delays: true)
        case .putOff(let instant):
            _ = beginOrWait(renewed(snapshot, from: instant), delays: false)
        }
    }

    /// Returns an announced start that could not be met, to be announced again; an appointment is preserved.
    private func renewed(_ snapshot: TimebaseSnapshot, from instant: MediaTime) -> PendingStart {
        let isAppointed = roster.withLock { $0.monitor.isAppointed }
        return PendingStart(
            rate: Float(snapshot.upcoming.speed), time: instant,
            appointment: isAppointed ? snapshot.upcoming.hostAnchor : nil)
    }

    /// Logs the wait if another one has become the longest. Without a log, missing media is reported to the developer.
    private func logWait(_ wait: OutputWait?) {
        guard let wait else { return }
        let now = clock.now
        let (isChange, isOverdue) = roster.withLock { roster -> (Bool, Bool) in
            guard var known = roster.longestWait, known.cause == wait.cause, known.output == wait.output else {
                roster.longestWait = Roster.Wait(cause: wait.cause, output: wait.output, since: now)
                return (true, false)
            }
            guard wait.cause.isMaterial, !known.isReported, now - known.since >= Self.maxUnreportedWait else {
                return (false, false)
            }
            known.isReported = true
            roster.longestWait = known
            return (false, true)
        }
        if isChange { events?.append(.startWaits(cause: wait.cause, output: wait.id)) }
        guard isOverdue, events == nil else { return }
        Complaint.write(
            "RenderSynchronizer: the start has been \(wait) for \(Self.maxUnreportedWait.components.seconds) s; enqueue "
                + "media, remove the renderer, or set delaysRateChangeUntilHasSufficientMediaData to false")
    }
}
