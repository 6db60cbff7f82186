public import MediaCore

/// A provider whose destinations may require pairing with this computer, by a PIN or a password. A program's pairing
/// command or panel (`OutputRegistry.pair` of the module Routing) supports them. Any thread; calls block on the
/// network, the disk and the user.
public protocol PairingProvider: OutputProvider {
    /// Pairs a destination with this computer and stores the keys, or deletes them.
    ///
    /// - Parameters:
    ///   - name: The user-provided name; one that `match` does not exclude.
    ///   - ask: Asks the user; nil if that is not possible.
    /// - Throws: `invalidArgument` for a malformed name, or if the user would have to be asked; `unavailable` for a
    ///   missing destination; `notPermitted` if it refuses. Keys that the destination has accepted are stored in any
    ///   case.
    func pair(
        _ name: String, _ action: PairingAction, until interruption: Interruption, ask: PairingQuestion?
    ) throws(TalkieError) -> PairingOutcome
}

/// The kind of pairing.
public enum PairingAction: Sendable, Hashable {
    /// By PIN. Nil: the destination shows one, and the user is asked for it.
    case pin(String?)
    /// By password.
    case password(String)
    /// Deletes the stored keys of the destination.
    case forget
}

/// The result of a pairing.
public struct PairingOutcome: Sendable, Hashable {
    /// A sentence, or one for each receiver of the destination.
    public var message: String
    /// Further messages for the user: files that could not be read.
    package var remarks: [String]

    /// Creates a result.
    public init(message: String, remarks: [String] = []) {
        self.message = message
        self.remarks = remarks
    }
}

/// Asks the user; nil cancels. Called at most once per receiver, while it shows its PIN.
public typealias PairingQuestion = (_ text: String) -> String?
