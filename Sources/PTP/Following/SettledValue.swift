internal import MediaCore

/// A value that others tell us again and again, and that changes only when the new one came several times while the
/// old one no longer did: a single forged message changes nothing, and neither do forged ones among true ones.
struct SettledValue<Value: Equatable & Sendable>: Sendable {
    /// A new value must come so often …
    private static var repetitions: Int { 8 }
    /// … and the old one not for so long.
    private static var silence: Duration { .seconds(2) }

    private(set) var value: Value?
    private var heard = HostInstant(nanoseconds: 0)
    private var rival: (value: Value, count: Int)?

    init() {}

    /// - Parameter repetitions: how often a new value must come; nil is eight times.
    /// - Returns: whether the value is another from now on.
    mutating func hear(_ told: Value, at now: HostInstant, repetitions: Int? = nil) -> Bool {
        guard let value else {
            value = told
            heard = now
            return true
        }
        if value == told {
            heard = now
            rival = nil
            return false
        }
        let count = rival.map { $0.value == told ? $0.count + 1 : 1 } ?? 1
        rival = (told, count)
        guard count >= repetitions ?? Self.repetitions, now - heard >= Self.silence else { return false }
        self.value = told
        heard = now
        rival = nil
        return true
    }
}
