public import MediaCore
internal import Routing
public import SyncRendering

/// Where sound goes, as a person names it: speakers that are found on the network, or this computer.
public struct SoundDestination: Sendable {
    /// What `Player(destination:)` plays to. Several speakers play together.
    public let output: any AudioOutput
    /// What a person should read once.
    public let warnings: [String]
    let registry: OutputRegistry

    /// Finds speakers and makes their outputs. Waits up to eight seconds for those that are not there yet.
    ///
    /// - Parameters:
    ///   - speakers: names, identifiers or addresses (`airplay://HOST[:PORT]`), or `local`; none is the local sound card.
    ///   - notice: told what is waited for.
    /// - Throws: `invalidArgument` for a name that several have or none can have, `unavailable` for a speaker that is not there or
    ///   cannot be played to, `notPermitted` for one that wants a PIN, a password or a right first.
    public init(speakers: [String], notice: @escaping (String) -> Void = { _ in }) throws(TalkieError) {
        registry = OutputRegistry()
        output = try SoundRoute(to: speakers.isEmpty ? ["local"] : speakers, in: registry, notice: notice).output
        warnings = registry.notes
    }

    /// Keeps what was learned about the speakers, for the next time. After the player has been shut down.
    public func remember() { registry.remember() }
}
