internal import MediaCore

/// The reason why an output cannot start yet, for the user and for the scheduling of starts.
public struct OutputWait: Sendable, Hashable, CustomStringConvertible {
    /// The cause of a wait.
    public enum Cause: String, Sendable, BitwiseCopyable {
        /// The device is opening, or the speaker has not responded yet.
        case opening = "opening"
        /// The speaker's clock is not synchronized well enough to place audio.
        case clock = "clock"
        /// The output is still measuring its own delay.
        case ownDelay = "ownDelay"
        /// The output is ready and has not received enough audio.
        case audio = "sound"
        /// No video frame is available.
        case video = "picture"
        /// A renderer of the application does not have enough media.
        case material = "material"

        /// Whether the cause is missing media and not an output.
        var isMaterial: Bool {
            switch self {
            case .opening, .clock, .ownDelay: false
            case .audio, .video, .material: true
            }
        }
    }

    /// The cause of the wait.
    public var cause: Cause
    /// The output's name.
    public var output: String
    /// The approximate remaining time; nil if unknown.
    public var remaining: Duration?
    /// The output's ID in events; nil for video.
    public var id: OutputID?

    /// Creates a wait.
    public init(_ cause: Cause, of output: String, remaining: Duration? = nil, id: OutputID? = nil) {
        self.cause = cause
        self.output = output
        self.remaining = remaining
        self.id = id
    }

    /// Returns true if this wait ends later; an unknown end is later than any known one.
    public func outlasts(_ other: OutputWait) -> Bool {
        guard let remaining else { return other.remaining != nil }
        return other.remaining.map { remaining > $0 } ?? false
    }

    /// A sentence for the user: “waiting for Kitchen's clock, about 1.2 s”.
    public var description: String {
        let what =
            switch cause {
            case .opening: output
            case .clock: "\(output)'s clock"
            case .ownDelay: "\(output) to settle"
            case .audio: "sound"
            case .video: "the picture"
            case .material: output
            }
        guard let remaining, remaining > .zero else { return "waiting for \(what)" }
        let tenths = max(1, (remaining.wholeNanoseconds + 50_000_000) / 100_000_000)
        return "waiting for \(what), about \(tenths / 10).\(tenths % 10) s"
    }
}
