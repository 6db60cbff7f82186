package import Sockets

/// Detects address changes of a speaker or of this computer during playback.
package struct AddressWatch {
    /// The change after which the speaker still responded.
    private var survived: String?

    package init() {}

    /// Returns a sentence about a change; nil if there is none, or if the speaker has survived the same one.
    ///
    /// - Parameters:
    ///   - remote: The speaker's address in the session.
    ///   - announced: The speaker's current addresses; nil: unknown.
    ///   - local: This computer's current address, if that of the session is no longer its own.
    package mutating func change(remote: NetworkAddress, announced: [SpeakerAddress]?, local: NetworkAddress?)
        -> String?
    {
        var change: String?
        if let announced, let first = announced.first, !announced.contains(where: { $0.host == remote.description }) {
            change = "Its address is now \(first.host)."
        } else if let local {
            change = "This computer's address is now \(local)."
        }
        if change == nil { survived = nil }
        return change == survived ? nil : change
    }

    /// Records that the speaker responded after a change.
    package mutating func recordSurvival(of change: String) { survived = change }
}
