package import MediaCore
package import Sockets

/// The time that this computer serves to receivers: the host's monotonic clock, unless a remote master is followed, or
/// a wall's time (`adjust`).
///
/// While a receiver insists on being grandmaster, the served time follows that master by rate, at most 100 ppm, never
/// in a step. The master's time is the served time plus a constant. All other receivers follow the master through this
/// computer (a boundary clock, IEEE 1588-2008, section 3.1.3). `epoch` is incremented if the constant changes: the
/// master stepped, or another one leads.
///
/// A suspension of this computer is no step: the served time includes it.
///
/// All methods may be called from any thread; the lock is held for nanoseconds.
package final class ServedTimeline: Sendable {
    /// Maximum rate deviation of the served time, as a ratio: 0.17 cents of pitch, and twice the frequency error of a
    /// quartz oscillator.
    package static let largestBend = 100e-6
    /// Time constant of the phase correction in seconds. Short against an oscillator's drift (minutes), long against
    /// the noise of single messages.
    private static let timeConstant = 8.0
    /// A larger deviation from the master is a step; nanoseconds. 10 ms take 100 s at 100 ppm.
    private static let largestDeviation: Int64 = 10_000_000
    /// A phase correction, or an adjustment, applies for this long. If the master falls silent, only its rate is kept.
    private static let correctionTime: Duration = .seconds(1)

    /// The remote master that the served time follows.
    private struct Leader {
        var peer: NetworkAddress
        var grandmaster: ClockIdentity
        /// The master's time minus the served time, nanoseconds.
        var offset: Int64
    }

    private struct State {
        var mapping: ClockMapping<HostInstant, PTPInstant>
        /// The rate offset without phase correction.
        var steadyBend = 0.0
        /// `HostClock.suspended` at the last access.
        var suspended: Duration
        var epoch: UInt64 = 0
        var isSteered = false
        var leader: Leader?
    }

    /// The clock of this computer.
    package let clock: any HostClock
    private let state: Lock<State>

    package init(clock: any HostClock = MonotonicClock()) {
        self.clock = clock
        let now = clock.now
        state = Lock(
            State(
                mapping: ClockMapping(sourceAnchor: now, targetAnchor: PTPInstant(nanoseconds: now.nanoseconds)),
                suspended: clock.suspended))
    }

    /// The served time, without a grandmaster: for NTP timing.
    package var timeline: PTPTimeline { timeline(named: nil) }

    /// The served time under a grandmaster identity.
    func timeline(named grandmaster: ClockIdentity?) -> PTPTimeline {
        read { state in
            PTPTimeline(
                grandmaster: grandmaster, mapping: state.mapping, epoch: state.epoch, isSteered: state.isSteered)
        }
    }

    /// Returns the time of a remote master, for a receiver that plays by it; nil if that master is not followed.
    package func timeline(ofMaster grandmaster: ClockIdentity) -> PTPTimeline? {
        read { state in
            guard let leader = state.leader, leader.grandmaster == grandmaster else { return nil }
            var mapping = state.mapping
            mapping.targetAnchor.nanoseconds &+= leader.offset
            return PTPTimeline(
                grandmaster: grandmaster, mapping: mapping, epoch: state.epoch, isSteered: state.isSteered)
        }
    }

    /// Returns the served time at an instant of the host clock.
    package func instant(at host: HostInstant) -> PTPInstant { read { $0.mapping.target(at: host) } }

    /// Adjusts the served time to a measurement of a remote master. The first master leads until `release`; others are
    /// rejected.
    ///
    ///
    /// - Parameters:
    ///   - isPlaying: true while audio is scheduled on this time; the deviation is then corrected by rate.
    /// - Returns: false if another grandmaster leads, or if the measured rate deviates by 1,000 ppm or more.
    @discardableResult
    package func adjust(
        _ grandmaster: ClockIdentity, of peer: NetworkAddress, at measured: ClockMapping<HostInstant, PTPInstant>,
        isPlaying: Bool
    ) -> Bool {
        let now = clock.now
        // No clock deviates by 1,000 ppm; the measurement is invalid.
        guard measured.rateOffset.magnitude < 1e-3 else { return false }
        return read { state in
            if let leader = state.leader, leader.peer != peer { return leader.grandmaster == grandmaster }
            let ours = state.mapping.target(at: now)
            let offset = measured.target(at: now).nanoseconds &- ours.nanoseconds
            var bend = measured.rateOffset
            if var leader = state.leader, leader.grandmaster == grandmaster {
                let deviation = offset &- leader.offset
                if !isPlaying {
                    leader.offset = offset
                } else if deviation.magnitude > UInt64(Self.largestDeviation) {
                    leader.offset = offset
                    state.epoch += 1
                } else {
                    bend += Double(deviation) * 1e-9 / Self.timeConstant
                }
                state.leader = leader
            } else {
                state.leader = Leader(peer: peer, grandmaster: grandmaster, offset: offset)
                state.epoch += 1
            }
            state.steadyBend = Self.held(measured.rateOffset)
            Self.bend(&state, by: bend, from: ours, at: now, uncertainty: measured.uncertainty)
            return true
        }
    }

    /// Runs the served time at another rate than the host clock, for a second unless repeated.
    ///
    /// - Returns: false, without effect, while a remote master is followed.
    package func adjust(by rateOffset: Double) -> Bool {
        let now = clock.now
        return read { state in
            guard state.leader == nil else { return false }
            Self.bend(&state, by: rateOffset, from: state.mapping.target(at: now), at: now, uncertainty: .zero)
            return true
        }
    }

    /// Stops following a receiver's master. The served time runs at the host clock's rate, and another master may lead.
    func release(_ peer: NetworkAddress) {
        let now = clock.now
        read { state in
            guard state.leader?.peer == peer else { return }
            state.leader = nil
            state.steadyBend = 0
            Self.bend(&state, by: 0, from: state.mapping.target(at: now), at: now, uncertainty: .zero)
        }
    }

    /// Returns true if no other master is followed, so that a receiver may play by this one.
    func mayLead(_ grandmaster: ClockIdentity) -> Bool {
        read { $0.leader.map { $0.grandmaster == grandmaster } ?? true }
    }

    /// Continues the served time from `ours` at `now` with another rate, clamped to `largestBend`.
    private static func bend(
        _ state: inout State, by rate: Double, from ours: PTPInstant, at now: HostInstant, uncertainty: Duration
    ) {
        let held = held(rate)
        state.mapping = ClockMapping(
            sourceAnchor: now, targetAnchor: ours, rateOffset: held, uncertainty: uncertainty)
        state.isSteered = state.isSteered || held != 0
    }

    private static func held(_ rate: Double) -> Double { max(-largestBend, min(largestBend, rate)) }

    /// Runs `body` under the lock, after ending an expired phase correction and adding a suspension.
    private func read<Result>(_ body: (inout State) -> Result) -> Result {
        let (suspended, now) = (clock.suspended, clock.now)
        return state.withLock { state in
            let until = state.mapping.sourceAnchor.advanced(by: Self.correctionTime)
            if state.mapping.rateOffset != state.steadyBend, now > until {
                Self.bend(
                    &state, by: state.steadyBend, from: state.mapping.target(at: until), at: until,
                    uncertainty: state.mapping.uncertainty)
            }
            // `CLOCK_MONOTONIC` stops during a suspension, the receivers' clocks do not.
            if suspended - state.suspended >= SuspensionWatch.minDuration {
                state.mapping.targetAnchor = state.mapping.targetAnchor.advanced(by: suspended - state.suspended)
                state.suspended = suspended
                state.epoch += 1
            }
            return body(&state)
        }
    }
}
