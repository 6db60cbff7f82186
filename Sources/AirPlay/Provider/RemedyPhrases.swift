public import MediaCore

/// How an application says what a person can do about a speaker: with the words of its own buttons or commands.
public struct RemedyPhrases: Sendable {
    /// In errors; nil keeps `Remedy.advice`.
    public var inErrors: @Sendable (Remedy) -> String?
    /// Of a place in a list that cannot be chosen before (`OutputPlace.obstacle`); nil keeps `Remedy.advice`.
    public var inLists: @Sendable (Remedy) -> String?

    public init(
        inErrors: @escaping @Sendable (Remedy) -> String? = { _ in nil },
        inLists: @escaping @Sendable (Remedy) -> String? = { _ in nil }
    ) {
        self.inErrors = inErrors
        self.inLists = inLists
    }
}

extension Remedy {
    static let pair = Remedy(.pair, advice: "pair with it")
    static let correctPassword = Remedy(.correctPassword, advice: "check it and give it again")
    static let listPlaces = Remedy(.listPlaces, advice: "the list of speakers says more")

    static func pairAgain(_ query: String? = nil) -> Remedy {
        Remedy(.pairAgain, place: query, advice: "pair with it again")
    }

    /// - Parameter query: how a person may name the speaker.
    static func pairByPIN(_ query: String? = nil) -> Remedy {
        Remedy(.pairByPIN, place: query, advice: "pair with it once, by its PIN")
    }

    static func givePassword(_ query: String? = nil) -> Remedy {
        Remedy(.givePassword, place: query, advice: "give it once")
    }
}
