/// An output as calibrations know it: a speaker, or the sink behind a sound card.
package struct CalibratedOutput: Sendable, Equatable {
    /// What profiles are kept under: the digits of its id, or `SoundSink.key`; empty for a card of which nobody says
    /// where it is heard.
    package var key: String
    package var name: String
    /// As the person named it.
    package var query: String
    package var route: String
    /// Where it was on the network; nil for a card of this computer.
    package var address: String?

    package init(key: String, name: String, query: String, route: String, address: String? = nil) {
        self.key = key
        self.name = name
        self.query = query
        self.route = route
        self.address = address
    }

    /// Of a file that was written before sinks were told apart.
    package var isOfUnknownSink: Bool { LatencyProfile.Key.isOfUnknownSink(speaker: key, route: route) }

    /// The route of a sound card; speakers have the names of theirs.
    package static let cardRoute = "card"
}
