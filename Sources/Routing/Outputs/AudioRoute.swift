internal import MediaCodecs
package import MediaCore
package import SyncRendering

/// The outputs for the user's audio options.
package struct AudioRoute: Sendable {
    /// An output that the user requests, and the languages of its audio track in order of preference.
    package struct Request: Sendable {
        let name: String
        let languages: [String]

        /// Creates a request; without languages, for the main audio track.
        package init(_ name: String, languages: [String] = []) { (self.name, self.languages) = (name, languages) }
    }

    /// The outputs of the main audio track: a group even for one output, so that its members can change.
    package let output: OutputGroup
    /// The requested destinations, for the picker.
    package let destinations: [OutputDestination]
    /// The languages of the destinations that have requested some, by destination.
    package let languages: [String: [String]]

    /// Finds the requested destinations, creates their outputs and starts to open them in the background.
    ///
    /// - Parameters:
    ///   - requests: At least one.
    ///   - notice: Receives a sentence about a wait.
    /// - Throws: As `OutputRegistry.destinations`; `invalidArgument` for a destination that is requested with different
    ///   languages. Errors after an interruption can be ignored.
    package init(
        to requests: [Request], in registry: OutputRegistry, until interruption: Interruption = Interruption(),
        notice: @escaping (String) -> Void
    ) throws(TalkieError) {
        var destinations: [OutputDestination] = []
        var languages: [String: [String]] = [:]
        var remaining = requests[...]
        // Each search is for one language, since a registry does not return which name has led to a destination.
        while let wanted = remaining.first?.languages {
            let names = remaining.filter { $0.languages == wanted }.map(\.name)
            remaining.removeAll { $0.languages == wanted }
            for destination in try registry.destinations(named: names, until: interruption, notice: notice) {
                guard !destinations.contains(destination) else {
                    throw TalkieError(
                        .invalidArgument,
                        "'\(destination.name)' is requested with several languages; a speaker plays one sound track")
                }
                destinations.append(destination)
                if !wanted.isEmpty { languages[destination.id] = wanted }
            }
        }
        // A group of outputs, each with its own delay and delivery.
        var routes: [TrackRoute] = []
        for destination in destinations {
            routes.append(
                TrackRoute(
                    id: destination.id, outputs: try registry.outputs(at: destination),
                    languages: languages[destination.id] ?? [])
            )
        }
        for member in routes.flatMap(\.outputs) { member.preopening?.open() }
        let main = TrackRoute.mainLanguages(of: routes)
        var members: [any AudioOutput] = []
        for output in routes.filter({ $0.languages == main }).flatMap(\.outputs)
        where !members.contains(where: { $0 === output }) { members.append(output) }
        output = OutputGroup(members: members, codecs: FilmAudioCodecs())
        (self.destinations, self.languages) = (destinations, languages)
    }
}
