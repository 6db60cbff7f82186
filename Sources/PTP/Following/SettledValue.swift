internal import MediaCore

/// A received value that resists forged messages: it changes after several consecutive repetitions of a new value and
/// 2 s without the old one.
struct SettledValue<Value: Equatable & Sendable>: Sendable {
    /// Default number of consecutive repetitions before a new value is accepted.
    private static var repetitions: Int { 8 }
    /// The old value must not have been received for this long.
    private static var silence: Duration { .seconds(2) }

    private(set) var value: Value?
    /// When `value` was received last.
    private var receivedAt = HostInstant(nanoseconds: 0)
    /// The candidate for replacement, and its consecutive repetitions.
    private var rival: (value: Value, count: Int)?

    init() {}

    /// Processes a received value.
    ///
    /// - Parameter repetitions: the repetitions that a new value needs; nil means eight.
    /// - Returns: true if `value` changed.
    mutating func receive(_ received: Value, at now: HostInstant, repetitions: Int? = nil) -> Bool {
        guard let value else {
            value = received
            receivedAt = now
            return true
        }
        if value == received {
            receivedAt = now
            rival = nil
            return false
        }
        let count = rival.map { $0.value == received ? $0.count + 1 : 1 } ?? 1
        rival = (received, count)
        guard count >= repetitions ?? Self.repetitions, now - receivedAt >= Self.silence else { return false }
        self.value = received
        receivedAt = now
        rival = nil
        return true
    }
}
