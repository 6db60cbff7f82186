public import MediaCore

/// The result of a change of the playing outputs.
public enum RouteChange: Sendable {
    /// The new outputs are audible, and the old ones silent, from this media time on; nil if nothing was playing.
    /// Unavailable outputs are omitted, each with its reason.
    case changed(at: MediaTime?, without: [Refusal])
    /// No new output is available. Nothing has changed, and the old ones continue to play.
    case refused([Refusal])
    /// A later request superseded this one before it was performed.
    case superseded

    /// An output that failed to join, and the reason.
    public struct Refusal: Sendable, CustomStringConvertible {
        /// The name of the output.
        public var output: String
        /// The reason.
        public var error: OutputError

        /// Creates a refusal.
        public init(output: String, error: OutputError) {
            self.output = output
            self.error = error
        }

        /// The name of the output and the message of the error.
        public var description: String { "'\(output)': \(error.message)" }
    }

    /// Returns the same with the remedies of its errors in other words; nil leaves one as it is.
    package func saying(_ words: (Remedy) -> String?) -> RouteChange {
        func said(_ refusals: [Refusal]) -> [Refusal] {
            refusals.map { Refusal(output: $0.output, error: $0.error.saying(words)) }
        }
        return switch self {
        case .changed(let time, let without): .changed(at: time, without: said(without))
        case .refused(let refusals): .refused(said(refusals))
        case .superseded: .superseded
        }
    }

    /// The state of a change, for the user.
    public enum Progress: Sendable, Hashable {
        /// Devices are opening, speakers are connecting, or clocks are synchronizing.
        case waiting(for: OutputWait)
        /// All outputs are open and are being filled.
        case filling
        /// The change is committed for this instant.
        case changing(at: HostInstant)
    }
}
