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
