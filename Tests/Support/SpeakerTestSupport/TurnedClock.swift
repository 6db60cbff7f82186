package import MediaCore

@testable internal import VirtualSpeaker

/// A sender clock with test-provided observations: the speaker's real filter and oscillator, without sockets.
package final class TurnedClock: SenderClock {
    private struct State {
        var filter = OffsetFilter()
        var grandmaster: UInt64?
    }

    private let state = Lock(State())
    private let oscillator: Oscillator
    private let host: any HostClock

    package let namesClocks: Bool

    /// - Parameter partsPerMillion: frequency error of the speaker's clock; positive is fast.
    package init(_ host: any HostClock, partsPerMillion: Double = 0, namesClocks: Bool = true) {
        self.host = host
        self.namesClocks = namesClocks
        oscillator = Oscillator(partsPerMillion: partsPerMillion, now: host.now)
    }

    package func announce(_ grandmaster: UInt64?) {
        state.withLock { state in
            if state.grandmaster != grandmaster { state.filter.reset() }
            state.grandmaster = grandmaster
        }
    }

    /// Adds the observation of a Follow_Up message.
    package func observe(origin: PTPInstant) {
        let arrival = oscillator.speakerInstant(at: host.now)
        state.withLock { $0.filter.observe(origin: origin, arrival: arrival) }
    }

    package var grandmaster: UInt64? { state.withLock { $0.grandmaster } }

    package var isLocked: Bool {
        let now = oscillator.speakerInstant(at: host.now)
        return state.withLock { $0.filter.isLocked(at: now) }
    }

    package func hostInstant(of instant: PTPInstant) -> HostInstant? {
        let now = oscillator.speakerInstant(at: host.now)
        let local = state.withLock { state in
            state.filter.isLocked(at: now) ? state.filter.speakerInstant(of: instant) : nil
        }
        return local.map { oscillator.hostInstant(at: $0) }
    }

    package func stop() {}
}
