package import MediaCore

/// A clock across a network, made of numbers: its rate, the way to it, and how ways differ. Every run is the same.
package struct ForeignClock: Sendable {
    /// Against this computer's clock; positive: it gains.
    package var partsPerMillion = 0.0
    /// Its time minus ours, at the origin of ours.
    package var offset: Int64 = 31_556_952_000_000_000
    /// The shortest way, each direction.
    package var way: Duration = .microseconds(800)
    /// Ways are longer by up to this, evenly, and one in twelve by ten times as much.
    package var jitter: Duration = .microseconds(300)
    /// The share of its words that were gone for a while before it read its clock: they seem too quick.
    package var interruptions = 0.0
    package var interruption: Duration = .milliseconds(1)
    private var random: UInt64 = 0x2545_F491_4F6C_DD1D

    package init(partsPerMillion: Double = 0) { self.partsPerMillion = partsPerMillion }

    /// One word of the clock, and a question with its answer.
    package struct Exchange: Sendable {
        /// When its word left, on its clock, and came, on ours.
        package var left: PTPInstant
        package var came: HostInstant
        /// When the question left, on our clock, and came, on its; and when the answer was here.
        package var asked: HostInstant
        package var heard: PTPInstant
        package var answered: HostInstant
    }

    /// Its time at a moment of ours, without any way.
    package func time(at host: HostInstant) -> PTPInstant {
        let gained = Int64((Double(host.nanoseconds) * partsPerMillion * 1e-6).rounded())
        return PTPInstant(nanoseconds: host.nanoseconds &+ offset &+ gained)
    }

    /// The clock speaks at a moment of ours, and is asked as soon as its word is here.
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
