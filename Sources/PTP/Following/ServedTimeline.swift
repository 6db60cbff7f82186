package import MediaCore
package import Sockets

/// The time that this computer serves to speakers: its monotonic clock, as a rule.
///
/// While a speaker insists on being grandmaster, this time is bent to follow that master, by at most 100 ppm and
/// never in a step: the master's own time is this one and a constant. So everybody who is served follows the master,
/// too, by way of us (a boundary clock, IEEE 1588-2008, section 3.1.3), and nobody hears of it. Where the constant has
/// to change, because the master stepped or another one speaks, `epoch` counts on.
///
/// A suspension of this computer is no step either: to those who are served, time goes on.
///
/// All methods may be called from any thread; the lock is held for nanoseconds.
package final class ServedTimeline: Sendable {
    /// The most that our time is bent: 0.17 cents of pitch, and twice what a quartz is off.
    package static let largestBend = 100e-6
    /// A deviation from the master fades by 1/e in this time: short beside the minutes in which a quartz changes, long
    /// beside the noise of single messages.
    private static let timeConstant = 8.0
    /// A deviation that would take longer than this to fade at 100 ppm is a step: 10 ms, 100 s.
    private static let largestDeviation: Int64 = 10_000_000
    /// A correction of phase is good for so long after the measurement that asked for it: a master that falls silent is
    /// remembered by its rate alone.
    private static let correctionTime: Duration = .seconds(1)

    private struct Leader {
        var peer: IPv4Address
        var grandmaster: ClockIdentity
        /// The master's time minus ours.
        var offset: Int64
    }

    private struct State {
        var mapping: ClockMapping<HostInstant, PTPInstant>
        /// The bend without any correction of phase.
        var steadyBend = 0.0
        var suspended: Duration
        var epoch: UInt64 = 0
        var isSteered = false
        var leader: Leader?
    }

    /// This computer's.
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

    /// Our time now, without a grandmaster's name: for those who are served.
    package var timeline: PTPTimeline { timeline(named: nil) }

    /// The same under our name.
    func timeline(named grandmaster: ClockIdentity?) -> PTPTimeline {
        read { state in
            PTPTimeline(
                grandmaster: grandmaster, mapping: state.mapping, epoch: state.epoch, isSteered: state.isSteered)
        }
    }

    /// The master's own time, for a speaker that plays by it; nil while that master is not the one followed.
    package func timeline(ofMaster grandmaster: ClockIdentity) -> PTPTimeline? {
        read { state in
            guard let leader = state.leader, leader.grandmaster == grandmaster else { return nil }
            var mapping = state.mapping
            mapping.targetAnchor.nanoseconds &+= leader.offset
            return PTPTimeline(
                grandmaster: grandmaster, mapping: mapping, epoch: state.epoch, isSteered: state.isSteered)
        }
    }

    /// Our time at a moment.
    package func instant(at host: HostInstant) -> PTPInstant { read { $0.mapping.target(at: host) } }

    /// A master's time as now measured. The first master that speaks leads; another is turned away until the first is
    /// released.
    ///
    /// - Parameters:
    ///   - isPlaying: sound lies on its time already, so that it is approached and not taken over.
    /// - Returns: false when another master leads.
    @discardableResult
    package func follow(
        _ grandmaster: ClockIdentity, of peer: IPv4Address, at measured: ClockMapping<HostInstant, PTPInstant>,
        isPlaying: Bool
    ) -> Bool {
        let now = clock.now
        // A mapping beyond all sense is nobody's clock.
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

    /// The speaker is gone; our time runs at its own rate again, and another master may lead.
    func release(_ peer: IPv4Address) {
        let now = clock.now
        read { state in
            guard state.leader?.peer == peer else { return }
            state.leader = nil
            state.steadyBend = 0
            Self.bend(&state, by: 0, from: state.mapping.target(at: now), at: now, uncertainty: .zero)
        }
    }

    /// Whether a speaker may be played to by its own master's time: nobody else's is followed.
    func mayLead(_ grandmaster: ClockIdentity) -> Bool {
        read { $0.leader.map { $0.grandmaster == grandmaster } ?? true }
    }

    private static func bend(
        _ state: inout State, by rate: Double, from ours: PTPInstant, at now: HostInstant, uncertainty: Duration
    ) {
        let held = held(rate)
        state.mapping = ClockMapping(
            sourceAnchor: now, targetAnchor: ours, rateOffset: held, uncertainty: uncertainty)
        state.isSteered = state.isSteered || held != 0
    }

    private static func held(_ rate: Double) -> Double { max(-largestBend, min(largestBend, rate)) }

    private func read<Result>(_ body: (inout State) -> Result) -> Result {
        let (suspended, now) = (clock.suspended, clock.now)
        return state.withLock { state in
            let until = state.mapping.sourceAnchor.advanced(by: Self.correctionTime)
            if state.mapping.rateOffset != state.steadyBend, now > until {
                Self.bend(
                    &state, by: state.steadyBend, from: state.mapping.target(at: until), at: until,
                    uncertainty: state.mapping.uncertainty)
            }
            // To speakers the time of our sleep has passed.
            if suspended - state.suspended >= SuspensionWatch.least {
                state.mapping.targetAnchor = state.mapping.targetAnchor.advanced(by: suspended - state.suspended)
                state.suspended = suspended
                state.epoch += 1
            }
            return body(&state)
        }
    }
}
