public import MediaCore

/// What is wrong with one output of several while a film plays.
public struct OutputProblem: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// Nothing is heard from it.
        case silent
        /// It shows no sign of life, and may still play the sound that it holds.
        case unresponsive
        /// It plays, and refuses the volume or the mute that was set.
        case gainRefused
    }

    /// As events name the output.
    public var output: OutputID
    /// For people.
    public var name: String
    public var kind: Kind
    /// The cause, with a sentence that says what to do.
    public var error: OutputError

    /// Returns what is wrong with an output that plays or is to play; nil while all is well.
    ///
    /// - Parameter loss: why nothing is heard from it.
    package init?(_ output: any AudioOutput, _ id: OutputID, loss: OutputError?) {
        if let loss {
            self.init(output: id, name: output.name, kind: .silent, error: loss)
        } else if output.isUnresponsive {
            let error = OutputError(.unavailable, "\(output.name) does not answer; check its power and its network")
            self.init(output: id, name: output.name, kind: .unresponsive, error: error)
        } else if let error = output.gainFailure {
            self.init(output: id, name: output.name, kind: .gainRefused, error: error)
        } else {
            return nil
        }
    }

    public init(output: OutputID, name: String, kind: Kind, error: OutputError) {
        (self.output, self.name, self.kind, self.error) = (output, name, kind, error)
    }
}
