internal import MediaCodecs
package import MediaCore
package import SyncRendering

/// The outputs for the user's audio options.
package struct SoundRoute: Sendable {
    /// A group even for one output, so that its members can change.
    package let output: OutputGroup
    /// The requested places, for the picker.
    package let places: [OutputPlace]

    /// Finds the requested places, creates their outputs and starts to open them in the background.
    ///
    /// - Parameters:
    ///   - names: The user-provided names.
    ///   - notice: Receives a sentence about a wait.
    /// - Throws: As `OutputRegistry.places`. Errors after an interruption can be ignored.
    package init(
        to names: [String], in registry: OutputRegistry, until interruption: Interruption = Interruption(),
        notice: @escaping (String) -> Void
    ) throws(TalkieError) {
        places = try registry.places(named: names, until: interruption, notice: notice)
        // A group of outputs, each with its own delay and delivery.
        let members = try registry.outputs(at: places)
        for member in members { member.open() }
        output = OutputGroup(members: members, codecs: FilmAudioCodecs())
    }
}
