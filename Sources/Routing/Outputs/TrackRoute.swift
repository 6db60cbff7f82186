package import SyncRendering

/// Outputs that play one audio track, such as those of a room.
package struct TrackRoute: Sendable {
    /// An identifier of the caller, such as `OutputDestination.id`.
    package let id: String
    package let outputs: [any AudioOutput]
    /// The languages of the track in order of preference; empty: the main audio track of the player.
    package let languages: [String]

    /// Creates a route.
    package init(id: String, outputs: [any AudioOutput], languages: [String] = []) {
        (self.id, self.outputs, self.languages) = (id, outputs, languages)
    }

    /// Returns the languages of the routes that play the main audio track: empty if a route has none of its own,
    /// otherwise those of the first route, which selects the track.
    package static func mainLanguages(of routes: [TrackRoute]) -> [String] {
        routes.contains { $0.languages.isEmpty } ? [] : routes.first?.languages ?? []
    }
}
