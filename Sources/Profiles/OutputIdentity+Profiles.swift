package import SyncRendering

extension OutputIdentity {
    /// True for files from before sinks were distinguished.
    package var isOfUnknownSink: Bool { LatencyProfile.Key.isOfUnknownSink(speaker: key, route: route) }

    /// The route of sound cards; speakers have their stream type.
    package static let cardRoute = "card"
}
