/// What is wrong with one output of several while a film plays.
public struct OutputProblem: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
        /// Nothing is heard from it.
        case silent
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

    public init(output: OutputID, name: String, kind: Kind, error: OutputError) {
        (self.output, self.name, self.kind, self.error) = (output, name, kind, error)
    }
}
