package import MediaCore

/// Bounds the commands of one speaker. A knob sends some twenty in a second; more are a fault or an attack.
package struct CommandRateLimit {
    private static let maxCommands = 50
    private static let interval: Duration = .seconds(1)

    private var began = HostInstant(nanoseconds: .min)
    private var count = 0

    package init() {}

    /// Counts a command; returns whether it is to be performed.
    package mutating func admit(at now: HostInstant) -> Bool {
        if now >= began.advanced(by: Self.interval) { (began, count) = (now, 0) }
        count += 1
        return count <= Self.maxCommands
    }
}
