public import MediaCore
internal import Synchronization

/// A start that waits until every renderer can keep it.
public struct PendingStart: Sendable, Hashable {
    /// The rate that was asked for.
    public internal(set) var rate: Float
    /// The film moment to start at; nil is wherever the film stands.
    public internal(set) var time: MediaTime?
    /// Not before this instant, whoever is ready: outputs are given until then to notice by themselves that they must begin
    /// anew.
    public internal(set) var notBefore: HostInstant?
    /// An appointment: the instant at which `time` is to be perceived. Whoever is ready later begins where film is by then. Nil
    /// begins at `time` whenever everybody can.
    public internal(set) var appointment: HostInstant?
    /// For whom it waits, and why; the longest wait first. Empty when it waits for `notBefore` alone.
    public internal(set) var waits: [OutputWait] = []

    /// Where film begins for those who cannot begin before an instant.
    package func beginning(from earliest: HostInstant) -> (time: MediaTime?, instant: HostInstant) {
        guard let appointment, let time else { return (time, earliest) }
        if appointment >= earliest { return (time, appointment) }
        let line = TimebaseSegment(mediaAnchor: time, hostAnchor: appointment, rate: Double(rate))
        return (line.mediaTime(at: earliest), earliest)
    }
}

extension RenderSynchronizer {
    /// The start that waits at present, for whom and why; nil when none does. Any thread.
    ///
    /// It waits because material or an output is not ready, or because the machine was suspended.
    public var pendingStart: PendingStart? {
        guard var start = roster.withLock({ $0.pending }) else { return nil }
        start.waits = startWaits
        return start
    }

    /// What keeps the renderers from a start, the longest wait first.
    private var startWaits: [OutputWait] {
        renderers.compactMap(\.startWait).sorted { $0.outlasts($1) }
    }

    /// The earliest host instant at which a start or a change of speed commanded now can be kept by everybody.
    public var earliestStart: HostInstant {
        let soonest = soonestStart
        return max(soonest, renderers.compactMap(\.earliestStart).max() ?? soonest)
    }

    /// The same for a film that does not wait for outputs which cannot place sound yet: they join it later.
    package var soonestStart: HostInstant { clock.now.advanced(by: startLead + Self.commandMargin) }

    /// A little more than the slowest output asks for: the commanding thread, too, may be late. Ten times what waking up
    /// costs on a busy machine.
    private static let commandMargin: Duration = .milliseconds(3)

    // MARK: Under the command lock

    /// Starts now if everybody can, or else as soon as they can.
    ///
    /// - Parameter delays: false waits for outputs, and not for material.
    /// - Returns: the timeline as published, without the start where that waits.
    func beginOrWait(_ start: PendingStart, delays: Bool) -> TimebaseSnapshot? {
        let isTime = start.notBefore.map { $0 <= clock.now } ?? true
        let waits = delays ? startWaits : startWaits.filter { !$0.cause.isMaterial }
        guard isTime, waits.isEmpty else {
            note(waits.first)
            roster.withLock { $0.pending = start }
            isStartOpen.store(true, ordering: .releasing)
            return nil
        }
        let (time, instant) = start.beginning(from: earliestStart)
        let snapshot = publish(Double(start.rate), time, at: instant)
        roster.withLock { roster in
            roster.pending = nil
            roster.lastWait = nil
            roster.monitor.begin(snapshot, isAppointed: start.appointment != nil)
        }
        isStartOpen.store(true, ordering: .releasing)
        return snapshot
    }

    /// Nobody waits for a start any more, and none is watched: something else was commanded.
    func forgetStart() {
        roster.withLock { roster in
            roster.pending = nil
            roster.lastWait = nil
            roster.monitor.end()
        }
        isStartOpen.store(false, ordering: .releasing)
    }

    /// Looks once more at a start that waits, or that was announced and is not perceived yet.
    func lookAfterStart() {
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
        case .hold(let moment):
            publish(0, moment, at: nil)
            _ = beginOrWait(renewed(snapshot, from: moment), delays: true)
        case .putOff(let moment):
            _ = beginOrWait(renewed(snapshot, from: moment), delays: false)
        }
    }

    /// An announced start that could not be kept, once more; an appointment stays one.
    private func renewed(_ snapshot: TimebaseSnapshot, from moment: MediaTime) -> PendingStart {
        let isAppointed = roster.withLock { $0.monitor.isAppointed }
        return PendingStart(
            rate: Float(snapshot.upcoming.speed), time: moment,
            appointment: isAppointed ? snapshot.upcoming.hostAnchor : nil)
    }

    /// Into the log, each time that another wait has become the longest.
    private func note(_ wait: OutputWait?) {
        guard let wait else { return }
        let isNews = roster.withLock { roster in
            defer { roster.lastWait = wait }
            return roster.lastWait?.cause != wait.cause || roster.lastWait?.output != wait.output
        }
        if isNews { events?.note(.startWaits(cause: wait.cause, output: wait.id)) }
    }
}
