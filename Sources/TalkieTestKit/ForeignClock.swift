package import MediaCore

/// A simulated remote clock with rate error and path delay. Deterministic.
package struct ForeignClock: Sendable {
    /// The rate error against the host clock in ppm; positive: it is fast.
    package var partsPerMillion = 0.0
    /// Its time minus the host's in nanoseconds, at the host's origin.
    package var offset: Int64 = 31_556_952_000_000_000
    /// Minimum path delay per direction.
    package var way: Duration = .microseconds(800)
    /// Maximum additional path delay, uniformly distributed; ten times as much for one message in twelve.
    package var jitter: Duration = .microseconds(300)
    /// The share of messages with a late timestamp: the thread was preempted before reading the
    /// clock. Their path appears too short.
    package var interruptions = 0.0
    /// The duration of such a preemption.
    package var interruption: Duration = .milliseconds(1)
    private var random: UInt64 = 0x2545_F491_4F6C_DD1D

    /// Creates a clock with the given rate error in ppm.
    package init(partsPerMillion: Double = 0) { self.partsPerMillion = partsPerMillion }

    /// One message of the clock, followed by a request and its answer.
    package struct Exchange: Sendable {
        /// When the message left (its clock) and arrived (host clock).
        package var left: PTPInstant
        /// Arrival of the message on the host clock.
        package var came: HostInstant
        /// When the request left (host clock).
        package var asked: HostInstant
        /// Arrival of the request on its clock.
        package var heard: PTPInstant
        /// Arrival of the answer on the host clock.
        package var answered: HostInstant
    }

    /// Returns its time at a host instant, without path delay.
    package func time(at host: HostInstant) -> PTPInstant {
        let gained = Int64((Double(host.nanoseconds) * partsPerMillion * 1e-6).rounded())
        return PTPInstant(nanoseconds: host.nanoseconds &+ offset &+ gained)
    }

    /// Simulates a message sent at a host instant, and a request sent when it arrives.
    package mutating func exchange(at host: HostInstant) -> Exchange {
        let came = host.advanced(by: oneWay())
        let there = came.advanced(by: oneWay())
        let isInterrupted = interruptions > 0 && draw() < interruptions
        return Exchange(
            left: time(at: isInterrupted ? host.advanced(by: interruption) : host), came: came, asked: came,
            heard: time(at: there),
            answered: there.advanced(by: oneWay()))
    }

    private mutating func oneWay() -> Duration {
        let slow = draw() < 1.0 / 12 ? 10.0 : 1
        return way + .nanoseconds(Int64(draw() * Double(jitter.wholeNanoseconds) * slow))
    }

    private mutating func draw() -> Double {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return Double(random >> 11) / Double(1 << 53)
    }
}
