package import SyncRendering

extension OutputIdentity {
    /// Of a file that was written before sinks were told apart.
    package var isOfUnknownSink: Bool { LatencyProfile.Key.isOfUnknownSink(speaker: key, route: route) }

    /// The route of a sound card; speakers have the names of theirs.
    package static let cardRoute = "card"
}
