internal import MediaCodecs
package import MediaCore
package import Playback
package import SyncRendering

/// The outputs for the user's audio options.
package struct AudioRoute: Sendable {
    /// An output that the user requests, and the selection of its audio track.
    package struct Request: Sendable {
        let name: String
        let choice: AudioTrackChoice?

        /// Creates a request; without a selection, for the main audio track.
        package init(_ name: String, choice: AudioTrackChoice? = nil) { (self.name, self.choice) = (name, choice) }
    }

    /// The outputs of the main audio track: a group even for one output, so that its members can change.
    package let output: OutputGroup
    /// The requested destinations, for the picker.
    package let destinations: [OutputDestination]
    /// The audio tracks of the destinations with a selection, by destination.
    package let tracks: [String: AudioTrackChoice]

    /// Finds the requested destinations, creates their outputs and starts to open them in the background.
    ///
    /// - Parameters:
    ///   - requests: At least one.
    ///   - notice: Receives a sentence about a wait.
    /// - Throws: As `OutputRegistry.destinations`; `invalidArgument` for a destination that is requested with different
    ///   tracks. Errors after an interruption can be ignored.
    package init(
        to requests: [Request], in registry: OutputRegistry, until interruption: Interruption = Interruption(),
        notice: @escaping (String) -> Void
    ) throws(TalkieError) {
        var destinations: [OutputDestination] = []
        var tracks: [String: AudioTrackChoice] = [:]
        var remaining = requests[...]
        // Each search is for one track, since a registry does not return which name has led to a destination.
        while let wanted = remaining.first.map(\.choice) {
            let names = remaining.filter { $0.choice == wanted }.map(\.name)
            remaining.removeAll { $0.choice == wanted }
            for destination in try registry.destinations(named: names, until: interruption, notice: notice) {
                guard !destinations.contains(destination) else {
                    throw TalkieError(
                        .invalidArgument,
                        "'\(destination.name)' is requested with several sound tracks; a speaker plays one")
                }
                destinations.append(destination)
                tracks[destination.id] = wanted
            }
        }
        // A group of outputs, each with its own delay and delivery.
        var routes: [TrackRoute] = []
        for destination in destinations {
            routes.append(
                TrackRoute(
                    id: destination.id, outputs: try registry.outputs(at: destination), choice: tracks[destination.id]))
        }
        for member in routes.flatMap(\.outputs) { member.preopening?.open() }
        let main = TrackRoute.mainChoice(of: routes)
        var members: [any AudioOutput] = []
        for output in routes.filter({ $0.choice == main }).flatMap(\.outputs)
        where !members.contains(where: { $0 === output }) { members.append(output) }
        output = OutputGroup(members: members, codecs: FilmAudioCodecs())
        (self.destinations, self.tracks) = (destinations, tracks)
    }
}
