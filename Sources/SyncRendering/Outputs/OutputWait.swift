internal import MediaCore

/// What keeps an output from being started, for people and for those who decide when to start.
public struct OutputWait: Sendable, Hashable, CustomStringConvertible {
    public enum Cause: String, Sendable {
        /// The device opens, or the speaker has not answered yet.
        case opening
        /// The speaker does not know our time well enough to place sound.
        case clock
        /// The output is still finding out its own delay.
        case ownDelay
    }

    public var cause: Cause
    /// The output's name.
    public var output: String
    /// About how much longer; nil when nobody can say.
    public var remaining: Duration?

    public init(_ cause: Cause, of output: String, remaining: Duration? = nil) {
        self.cause = cause
        self.output = output
        self.remaining = remaining
    }

    /// Whether the one wait outlasts the other; an unknown end is later than any known one.
    public func outlasts(_ other: OutputWait) -> Bool {
        guard let remaining else { return other.remaining != nil }
        return other.remaining.map { remaining > $0 } ?? false
    }

    /// “waiting for Kitchen's clock, about 1.2 s”
    public var description: String {
        let what =
            switch cause {
            case .opening: output
            case .clock: "\(output)'s clock"
            case .ownDelay: "\(output) to settle"
            }
        guard let remaining, remaining > .zero else { return "waiting for \(what)" }
        let tenths = max(1, (remaining.wholeNanoseconds + 50_000_000) / 100_000_000)
        return "waiting for \(what), about \(tenths / 10).\(tenths % 10) s"
    }
}
