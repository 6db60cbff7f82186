internal import MediaCore

/// How many packets may be sent once more at a moment: a token bucket.
///
/// A request of eight bytes can ask for 512 packets, and nobody signs it. A receiver that lost what it needs can use no
/// more at once than its queue holds, and no more in the long run than the stream has: so much it gets.
struct ResendAllowance: Sendable {
    /// Tokens in nanoseconds of sound.
    private var saved: Int64
    private var counted: HostInstant
    private let most: Int64
    private let price: Int64

    /// - Parameters:
    ///   - packet: how much sound a packet holds.
    ///   - queue: how much the receiver holds.
    init(packet: Duration, queue: Duration, at now: HostInstant) {
        price = max(1, packet.wholeNanoseconds)
        most = max(price, queue.wholeNanoseconds)
        saved = most
        counted = now
    }

    /// Takes one packet's share; false when there is none left for now.
    mutating func take(at now: HostInstant) -> Bool {
        let passed = max(0, (now - counted).wholeNanoseconds)
        counted = max(counted, now)
        saved = passed >= most ? most : min(most, saved + passed)
        guard saved >= price else { return false }
        saved -= price
        return true
    }
}
