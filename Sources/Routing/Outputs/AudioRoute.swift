internal import MediaCodecs
package import MediaCore
package import Playback
package import SyncRendering

/// The outputs for the user's audio options.
package struct AudioRoute: Sendable {
    /// An output that the user requests, the selection of its audio track, and the channels that it plays.
    package struct Request: Sendable {
        let name: String
        let choice: AudioTrackChoice?
        let channels: ChannelSelection

        /// Creates a request; without a selection, for the main audio track.
        package init(_ name: String, choice: AudioTrackChoice? = nil, channels: ChannelSelection = .whole) {
            (self.name, self.choice, self.channels) = (name, choice, channels)
        }

        func isAlike(_ other: Request) -> Bool { choice == other.choice && channels == other.channels }
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
    ///   tracks or channels. Errors after an interruption can be ignored.
    package init(
        to requests: [Request], in registry: OutputRegistry, until interruption: Interruption = Interruption(),
        notice: @escaping (String) -> Void
    ) throws(TalkieError) {
        var destinations: [OutputDestination] = []
        var tracks: [String: AudioTrackChoice] = [:]
        var channels: [String: ChannelSelection] = [:]
        var remaining = requests[...]
        // Each search is for one track and part, since a registry does not return which name has led to a destination.
        while let wanted = remaining.first {
            let names = remaining.filter(wanted.isAlike).map(\.name)
            remaining.removeAll(where: wanted.isAlike)
            for destination in try registry.destinations(named: names, until: interruption, notice: notice) {
                guard !destinations.contains(destination) else {
                    throw TalkieError(
                        .invalidArgument,
                        "'\(destination.name)' is requested with several sound tracks or parts; a speaker plays one")
                }
                destinations.append(destination)
                tracks[destination.id] = wanted.choice
                channels[destination.id] = wanted.channels
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
        for route in routes {
            for member in route.outputs { output.setChannels(channels[route.id] ?? .whole, of: member) }
        }
        (self.destinations, self.tracks) = (destinations, tracks)
    }
}
