internal import AirPlayWire
package import MediaCore

/// What the user wants of a speaker; by default what its announcement and earlier sessions suggest.
package struct SpeakerPreferences: Hashable, Sendable {
    /// A request for a route.
    package enum RouteRequest: Hashable, Sendable {
        /// The best route, also after another one was wanted before.
        case best
        case only(Route)

        /// Parses `auto`, `buffered`, `realtime`, `ntp` or `classic`.
        package init(parsing text: String) throws(ValueError) {
            switch text {
            case "auto": self = .best
            case "buffered": self = .only(.buffered)
            case "realtime": self = .only(.realtime)
            case "ntp": self = .only(.realtimeNTP)
            case "classic": self = .only(.classic)
            default: throw ValueError("the route must be auto, buffered, realtime, ntp or classic")
            }
        }

        /// The text that `init(parsing:)` accepts.
        package var option: String {
            switch self {
            case .best: "auto"
            case .only(.realtimeNTP): "ntp"
            case .only(let route): route.rawValue
            }
        }
    }

    /// Nil: the request of an earlier use counts.
    package var route: RouteRequest?
    /// Whether audio that cannot be passed through is encoded as AAC instead of ALAC on the buffered route: minutes of
    /// AAC fit in the speaker's buffer, and about one of ALAC.
    package var prefersAAC = true

    /// The bits per sample of lossless audio: 16, or 24 if the speaker offers them on the buffered route. Nil: 16.
    package var bits: Int?

    /// The most channels to send on the buffered route, if the speaker offers them: 2, 6 or 8.
    package var channels = 2

    package init(route: RouteRequest? = nil, prefersAAC: Bool = true, bits: Int? = nil, channels: Int = 2) {
        (self.route, self.prefersAAC, self.bits, self.channels) = (route, prefersAAC, bits, channels)
    }

    /// Returns the only route to use; nil: the best one.
    package func route(wantedBefore earlier: Route?) -> Route? {
        switch route {
        case .best: nil
        case .only(let route): route
        case nil: earlier
        }
    }
}

/// The preferences of all speakers.
package struct SpeakerPreferenceTable: Hashable, Sendable {
    /// For speakers without preferences of their own.
    private let others: SpeakerPreferences
    private var named: [String: SpeakerPreferences] = [:]

    /// Creates a table.
    ///
    /// - Parameters:
    ///   - others: for speakers that are not in `named`, also those selected later.
    ///   - named: pairs of a name, as the user gave it, and preferences. A malformed name is ignored: finding it fails.
    package init(_ others: SpeakerPreferences = SpeakerPreferences(), named: [(String, SpeakerPreferences)] = []) {
        self.others = others
        for (name, preferences) in named {
            // ignored: see above.
            if let query = try? SpeakerQuery(name) { self.named[query.description] = preferences }
        }
    }

    /// Returns the preferences for the speaker of a query.
    package subscript(query: String) -> SpeakerPreferences { named[query] ?? others }
}
