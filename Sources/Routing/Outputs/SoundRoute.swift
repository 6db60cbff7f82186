internal import MediaCodecs
package import MediaCore
package import SyncRendering

/// From what a person said about sound to the outputs that play it.
package struct SoundRoute: Sendable {
    /// Always a group, so that its members can change.
    package let output: OutputGroup
    /// The places that were named, as the picker lists them.
    package let places: [OutputPlace]

    /// Finds the places that were named and makes their outputs, which begin to open in the background.
    ///
    /// - Parameters:
    ///   - names: what a person named.
    ///   - notice: told what is waited for.
    /// - Throws: as `OutputRegistry.places`. Whatever it throws after an interruption is of no interest.
    package init(
        to names: [String], in registry: OutputRegistry, until interruption: Interruption = Interruption(),
        notice: @escaping (String) -> Void
    ) throws(TalkieError) {
        places = try registry.places(named: names, until: interruption, notice: notice)
        // Several outputs as one; each keeps its own delay and its own way of taking sound.
        let members = try registry.outputs(at: places)
        for member in members { member.open() }
        output = OutputGroup(members: members, codecs: FilmAudioCodecs())
    }
}
