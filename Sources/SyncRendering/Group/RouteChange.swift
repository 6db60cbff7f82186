public import MediaCore

/// What became of a change of the outputs that play.
public enum RouteChange: Sendable {
    /// The new outputs are heard from this film moment on, where the old ones fell silent; nil when nothing was playing.
    /// Those that could not be had are left out, each with its reason.
    case changed(at: MediaTime?, without: [Refusal])
    /// None of the new outputs can be had. Everything is as it was, and the old ones play on.
    case refused([Refusal])
    /// A later wish took its place before it was carried out.
    case superseded

    /// An output that could not join, and why.
    public struct Refusal: Sendable, CustomStringConvertible {
        public var output: String
        public var error: OutputError

        public init(output: String, error: OutputError) {
            self.output = output
            self.error = error
        }

        public var description: String { "'\(output)': \(error.message)" }
    }

    /// Returns the same with the remedies of its errors in other words; nil leaves one as it is.
    public func saying(_ words: (Remedy) -> String?) -> RouteChange {
        func said(_ refusals: [Refusal]) -> [Refusal] {
            refusals.map { Refusal(output: $0.output, error: $0.error.saying(words)) }
        }
        return switch self {
        case .changed(let moment, let without): .changed(at: moment, without: said(without))
        case .refused(let refusals): .refused(said(refusals))
        case .superseded: .superseded
        }
    }

    /// How far a change is, for people.
    public enum Progress: Sendable, Hashable {
        /// Devices open, speakers answer, clocks are learned.
        case waiting(for: OutputWait)
        /// Everything is there; sound is being brought up to the film.
        case filling
        /// Decided: it happens at this instant.
        case changing(at: HostInstant)
    }
}
