public import MediaCore

/// A problem of one of several outputs during playback.
public struct OutputProblem: Sendable, Hashable {
    /// The kind of problem.
    public enum Kind: Sendable, Hashable {
        /// The output is silent.
        case silent
        /// The output is unresponsive and may still play its buffered audio.
        case unresponsive
        /// The output accepts no audio, although there is some: it is silent as long as that lasts.
        case starved
        /// The output accepts audio, and nothing confirms that it plays: it may be silent.
        case unconfirmed
        /// The output plays but rejects the volume or the mute.
        case gainRefused
        /// The output plays, with less quality than requested.
        case formatReduced
    }

    /// The output's ID in events.
    public var output: OutputID
    /// The output's name for the user.
    public var name: String
    /// The kind of problem.
    public var kind: Kind
    /// The cause, with a message that includes the remedy.
    public var error: OutputError

    /// Returns the problem of a playing output; nil if there is none.
    ///
    /// - Parameter loss: The reason why the output is silent, if it is.
    package init?(_ output: any AudioOutput, _ id: OutputID, loss: OutputError?) {
        self.init(OutputAbilities(output), id, loss: loss, isStarved: false)
    }

    init?(_ abilities: OutputAbilities, _ id: OutputID, loss: OutputError?, isStarved: Bool) {
        let output = abilities.output
        if let loss {
            self.init(output: id, name: output.name, kind: .silent, error: loss)
        } else if abilities.recovering?.isUnresponsive == true {
            let error = OutputError(.unavailable, "\(output.name) does not answer; check its power and its network")
            self.init(output: id, name: output.name, kind: .unresponsive, error: error)
        } else if isStarved {
            let error = OutputError(
                .unavailable, "\(output.name) accepts no sound; choose another output, or switch it off and on")
            self.init(output: id, name: output.name, kind: .starved, error: error)
        } else if let error = abilities.recovering?.unconfirmedPlayback {
            self.init(output: id, name: output.name, kind: .unconfirmed, error: error)
        } else if let error = abilities.ownerVolume?.gainFailure {
            self.init(output: id, name: output.name, kind: .gainRefused, error: error)
        } else if let error = abilities.packets?.formatReduction {
            self.init(output: id, name: output.name, kind: .formatReduced, error: error)
        } else {
            return nil
        }
    }

    /// What the user perceives, for display after the output's name; nil if the output plays.
    public var phrase: String? {
        switch kind {
        case .silent: "no sound, trying again"
        case .unresponsive: "does not answer"
        case .starved: "accepts no sound"
        case .unconfirmed, .gainRefused, .formatReduced: nil
        }
    }

    /// Creates a problem.
    public init(output: OutputID, name: String, kind: Kind, error: OutputError) {
        (self.output, self.name, self.kind, self.error) = (output, name, kind, error)
    }
}
