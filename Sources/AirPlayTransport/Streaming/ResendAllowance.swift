package import MediaCore

/// Limits retransmissions by a token bucket.
///
/// An unauthenticated request of eight bytes can ask for 512 packets. A receiver cannot use more at once than its queue
/// holds, nor more on average than the stream's rate; both are the limits.
package struct ResendAllowance: Sendable {
    /// Tokens, in nanoseconds of audio.
    private var saved: Int64
    private var counted: HostInstant
    private let maxSaved: Int64
    private let price: Int64

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - packet: The duration of a packet.
    ///   - queue: The duration of the receiver's queue.
    package init(packet: Duration, queue: Duration, at now: HostInstant) {
        price = max(1, packet.wholeNanoseconds)
        maxSaved = max(price, queue.wholeNanoseconds)
        saved = maxSaved
        counted = now
    }

    /// Consumes the tokens of one packet. Returns false if there are too few.
    package mutating func consumeToken(at now: HostInstant) -> Bool {
        let passed = max(0, (now - counted).wholeNanoseconds)
        counted = max(counted, now)
        saved = passed >= maxSaved ? maxSaved : min(maxSaved, saved + passed)
        guard saved >= price else { return false }
        saved -= price
        return true
    }
}
