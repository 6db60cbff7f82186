public import MediaCore

/// The application's wording of remedies, for its own buttons or commands.
public struct RemedyPhrases: Sendable {
    /// The wording in errors; nil: `Remedy.advice`.
    public var inErrors: @Sendable (Remedy) -> String?
    /// The wording in a list, for a destination that cannot be selected yet (`OutputDestination.obstacle`); nil:
    /// `Remedy.advice`.
    public var inLists: @Sendable (Remedy) -> String?

    /// Creates phrases; the default keeps `Remedy.advice`.
    public init(
        inErrors: @escaping @Sendable (Remedy) -> String? = { _ in nil },
        inLists: @escaping @Sendable (Remedy) -> String? = { _ in nil }
    ) {
        self.inErrors = inErrors
        self.inLists = inLists
    }
}

extension Remedy {
    package static let pair = Remedy(.pair, advice: "pair with it")
    package static let correctPassword = Remedy(.correctPassword, advice: "check it and enter it again")
    package static let listOutputs = Remedy(.listOutputs, advice: "see the list of speakers")

    package static func pairAgain(_ query: String? = nil) -> Remedy {
        Remedy(.pairAgain, outputName: query, advice: "pair with it again")
    }

    /// For a speaker that stays silent, although it has accepted the stream.
    package static func chooseRoute(_ route: SpeakerPreferences.RouteRequest, of query: String) -> Remedy {
        Remedy(
            .chooseRoute, outputName: "\(query);route=\(route.option)",
            advice: "a firewall may block its messages; otherwise try another route, \(route.option)")
    }

    /// For a speaker that refuses the only route that the user wants.
    package static func resetRoute(of query: String) -> Remedy {
        let option = SpeakerPreferences.RouteRequest.best.option
        return Remedy(
            .resetRoute, outputName: "\(query);route=\(option)",
            advice: "only this route was requested; the route \(option) tries all")
    }

    /// - Parameter query: A name of the speaker for the user.
    package static func pairByPIN(_ query: String? = nil) -> Remedy {
        Remedy(.pairByPIN, outputName: query, advice: "pair with it once, by its PIN")
    }

    package static func enterPassword(_ query: String? = nil) -> Remedy {
        Remedy(.givePassword, outputName: query, advice: "set it once")
    }
}
