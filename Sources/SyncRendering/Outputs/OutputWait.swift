internal import MediaCore

/// What keeps an output from being started, for people and for those who decide when to start.
public struct OutputWait: Sendable, Hashable, CustomStringConvertible {
    public enum Cause: String, Sendable, BitwiseCopyable {
        /// The device opens, or the speaker has not answered yet.
        case opening
        /// The speaker does not know our time well enough to place sound.
        case clock
        /// The output is still finding out its own delay.
        case ownDelay
        /// The output is ready and has not been handed enough sound.
        case sound
        /// No picture is there.
        case picture
        /// A renderer of the application's own has not enough yet.
        case material

        /// It is up to whoever supplies the material, not to an output.
        var isMaterial: Bool {
            switch self {
            case .opening, .clock, .ownDelay: false
            case .sound, .picture, .material: true
            }
        }
    }

    public var cause: Cause
    /// The output's name.
    public var output: String
    /// About how much longer; nil when nobody can say.
    public var remaining: Duration?
    /// By what events call the output; nil for pictures.
    public var id: OutputID?

    public init(_ cause: Cause, of output: String, remaining: Duration? = nil, id: OutputID? = nil) {
        self.cause = cause
        self.output = output
        self.remaining = remaining
        self.id = id
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
            case .sound: "sound"
            case .picture: "the picture"
            case .material: output
            }
        guard let remaining, remaining > .zero else { return "waiting for \(what)" }
        let tenths = max(1, (remaining.wholeNanoseconds + 50_000_000) / 100_000_000)
        return "waiting for \(what), about \(tenths / 10).\(tenths % 10) s"
    }
}
