/// An action that resolves an error, as a value. Applications phrase it in terms of their own buttons or commands; for
/// an unknown action they show `advice`.
public struct Remedy: Hashable, Sendable {
    /// An open set of actions; later versions may add some.
    public struct Action: RawRepresentable, Hashable, Sendable {
        /// The action in text form; stable across versions.
        public let rawValue: String
        /// Creates an action.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Pair this computer with the output by any method it offers.
        public static let pair = Action(rawValue: "pair")
        /// Pair this computer with the output by the PIN that it displays.
        public static let pairByPIN = Action(rawValue: "pair-by-pin")
        /// Pair again: the output has lost the pairing.
        public static let pairAgain = Action(rawValue: "pair-again")
        /// Enter the output's password, which is then stored.
        public static let givePassword = Action(rawValue: "give-password")
        /// Enter the password again: the stored one is wrong.
        public static let correctPassword = Action(rawValue: "correct-password")
        /// Provide the PIN that the output displays, if the program cannot prompt for it.
        public static let givePIN = Action(rawValue: "give-pin")
        /// List the available outputs.
        public static let listOutputs = Action(rawValue: "list-places")
        /// Let the place's messages through this computer's firewall.
        public static let checkFirewall = Action(rawValue: "check-firewall")
        /// Send to the output by another stream or clock; `outputName` contains both.
        public static let chooseRoute = Action(rawValue: "choose-route")
        /// Send to the output by any stream or clock, instead of the requested one; `outputName` contains that.
        public static let resetRoute = Action(rawValue: "reset-route")
    }

    /// The action, for programs.
    public let action: Action
    /// The output's name as a user can enter it; nil if unknown.
    public let outputName: String?
    /// Advice for users, appended to the problem after a semicolon, a colon or in brackets: `pair with it once`.
    package let advice: String

    /// Creates a remedy.
    public init(_ action: Action, outputName: String? = nil, advice: String) {
        self.action = action
        self.outputName = outputName
        self.advice = advice
    }

    /// Returns this remedy with another advice; nil keeps it.
    package func saying(_ advice: String?) -> Remedy {
        Remedy(action, outputName: outputName, advice: advice ?? self.advice)
    }

    /// Returns problem and advice as one sentence; a full stop of the problem moves to the end.
    package func sentence(after problem: String) -> String {
        let separator = advice.hasPrefix(":") ? "" : advice.hasPrefix("(") ? " " : "; "
        return problem.hasSuffix(".") ? problem.dropLast() + separator + advice + "." : problem + separator + advice
    }
}
