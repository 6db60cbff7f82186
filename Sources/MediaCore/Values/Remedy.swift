/// What a person can do about an error or an obstacle, as a value: an application says it in the words of its own buttons or commands,
/// and one that does not know the action shows the advice.
public struct Remedy: Hashable, Sendable {
    /// An open set: later versions may add actions without breaking anyone.
    public struct Action: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Pair this computer with the place, in whichever way it asks for.
        public static let pair = Action(rawValue: "pair")
        /// Pair this computer with the place, by the PIN that it shows.
        public static let pairByPIN = Action(rawValue: "pair-by-pin")
        /// Pair once more: the place has forgotten this computer.
        public static let pairAgain = Action(rawValue: "pair-again")
        /// Give the place's password, which is then kept.
        public static let givePassword = Action(rawValue: "give-password")
        /// The same once more: the password that is kept is wrong.
        public static let correctPassword = Action(rawValue: "correct-password")
        /// Give the PIN that the place shows, when nobody can be asked for it.
        public static let givePIN = Action(rawValue: "give-pin")
        /// Look at which places there are.
        public static let listPlaces = Action(rawValue: "list-places")
        /// Let the place's messages through this computer's firewall.
        public static let checkFirewall = Action(rawValue: "check-firewall")
    }

    public let action: Action
    /// The place it is about, as a person may name it; nil where the error does not know how it was named.
    public let place: String?
    /// For people, to follow the problem after a semicolon, or after a colon or bracket of its own: `pair with it once`.
    public let advice: String

    public init(_ action: Action, place: String? = nil, advice: String) {
        self.action = action
        self.place = place
        self.advice = advice
    }

    /// The same with another advice; nil leaves it as it is.
    public func saying(_ advice: String?) -> Remedy { Remedy(action, place: place, advice: advice ?? self.advice) }

    /// What is wrong, and what to do about it, as one sentence; a full stop at the end of the problem stays at the end.
    package func sentence(after problem: String) -> String {
        let joint = advice.hasPrefix(":") ? "" : advice.hasPrefix("(") ? " " : "; "
        return problem.hasSuffix(".") ? problem.dropLast() + joint + advice + "." : problem + joint + advice
    }
}
