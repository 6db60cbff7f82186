internal import AirPlay
internal import MediaCore
internal import Playback
internal import SyncRendering

extension Player {
    /// Returns the name of an event's output, and why it is silent, if known. Nil for an unknown output.
    func nameAndReason(_ output: OutputID) -> (name: String, reason: String?)? {
        guard let (member, group, number) = self.output(output) else { return nil }
        let failure = group.failure(ofMember: number) ?? member.failure
        return (member.name, failure?.message ?? (member as? AirPlaySpeaker)?.interruption)
    }
}
