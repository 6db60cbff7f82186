public import MediaCore

/// A provider whose places may want to know this computer before they play for it, by a PIN or a password. A program's command or
/// panel for pairing (`OutputRegistry.pair` of the module Routing) then works for them too. Any thread; calls block on the network, the
/// disk and the person.
public protocol PairingProvider: OutputProvider {
    /// Gets a place and this computer acquainted and keeps what they will need, or forgets it.
    ///
    /// - Parameters:
    ///   - name: as a person named the place; one that this provider answers to.
    ///   - ask: nil when nobody can be asked.
    /// - Throws: `invalidArgument` for a name that makes no sense, or when somebody would have to be asked; `unavailable` for a place
    ///   that is not there; `notPermitted` when it refuses. Keys that the place has accepted are kept all the same.
    func pair(
        _ name: String, _ wish: PairingWish, until interruption: Interruption, ask: PairingQuestion?
    ) throws(TalkieError) -> PairingOutcome
}

/// How a place and this computer are to get acquainted.
public enum PairingWish: Sendable, Hashable {
    /// Nil: the place shows one, and the person is asked for it.
    case pin(String?)
    case password(String)
    /// What was kept for the place is removed.
    case forget
}

/// What came of a pairing.
public struct PairingOutcome: Sendable, Hashable {
    /// One sentence, or one for each receiver behind the place.
    public var message: String
    /// What else a person should know: files that could not be read.
    public var remarks: [String]

    public init(message: String, remarks: [String] = []) {
        self.message = message
        self.remarks = remarks
    }
}

/// Asks the person; nil gives up. Called at most once for each receiver, while it shows its PIN.
public typealias PairingQuestion = (_ text: String) -> String?
