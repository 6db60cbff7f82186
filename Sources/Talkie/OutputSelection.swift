public import MediaCore
internal import Routing
public import SyncRendering

/// The outputs named by the user: speakers on the network, or this computer.
public struct OutputSelection: Sendable {
    /// The output for `Player(destination:)`; several speakers play in sync.
    public let output: OutputGroup
    /// Sentences about problems for the user.
    public let warnings: [String]
    let registry: OutputRegistry

    /// Finds speakers and creates their outputs. Blocks up to eight seconds for missing ones.
    ///
    /// - Parameters:
    ///   - speakers: Names, identifiers or addresses (`airplay://HOST[:PORT]`), or `local`; empty: the local sound
    ///     card.
    ///   - notice: Receives a sentence about a wait.
    /// - Throws: `invalidArgument` for an ambiguous or malformed name, `unavailable` for a missing or unusable speaker.
    ///   `notPermitted` if it requires a PIN or a password, or this computer a permission.
    public init(speakers: [String], notice: @escaping (String) -> Void = { _ in }) throws(TalkieError) {
        registry = OutputRegistry()
        output = try AudioRoute(
            to: (speakers.isEmpty ? ["local"] : speakers).map { AudioRoute.Request($0) }, in: registry, notice: notice
        ).output
        warnings = registry.notes
    }

    /// Stores what was learned about the speakers for the next use. Call it after the player has been shut down.
    public func remember() { registry.remember() }
}
