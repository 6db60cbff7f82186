internal import AirPlay
internal import MediaCore
internal import SyncRendering

extension AudioOutput {
    /// Returns the name of an event's output, and why it is silent, if known. Nil for an unknown output.
    func part(_ output: OutputID) -> (name: String, reason: String?)? {
        guard let group = self as? OutputGroup else { return (name, silence) }
        guard let member = group.output(number: output.index) else { return nil }
        return (member.name, group.failure(ofMember: output.index)?.message ?? member.silence)
    }

    private var silence: String? { failure?.message ?? (self as? AirPlaySpeaker)?.interruption }
}
