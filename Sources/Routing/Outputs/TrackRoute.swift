package import Playback
package import SyncRendering

/// Outputs that play one audio track, such as those of a room.
package struct TrackRoute: Sendable {
    /// An identifier of the caller, such as `OutputDestination.id`.
    package let id: String
    package let outputs: [any AudioOutput]
    /// The selection of the track; nil: the main audio track of the player.
    package let choice: AudioTrackChoice?

    /// Creates a route.
    package init(id: String, outputs: [any AudioOutput], choice: AudioTrackChoice? = nil) {
        (self.id, self.outputs, self.choice) = (id, outputs, choice)
    }

    /// Returns the selection of the routes that play the main audio track: nil if a route has none of its own,
    /// otherwise that of the first route, which selects the track.
    package static func mainChoice(of routes: [TrackRoute]) -> AudioTrackChoice? {
        routes.contains { $0.choice == nil } ? nil : routes.first?.choice
    }
}
