internal import AirPlay
internal import Glibc

/// What this computer keeps for good: who it is to speakers, their keys, and what playing to them has taught.
struct SpeakerKnowledge: Sendable {
    let identity: InstallationIdentity
    let pairings: PairingStore
    let routes: RouteStore
    /// A sentence about what could not be kept or read.
    let note: String?

    init(folder: StateFolder = .standard()) {
        let (identity, note) = InstallationIdentity.load(from: folder)
        self.identity = identity
        self.note = note
        pairings = PairingStore(folder, identity: identity)
        routes = RouteStore(folder)
    }

    /// As speakers list this computer.
    var sender: SenderIdentity { identity.sender(name: Self.computerName) }

    /// The computer's own name, without a domain.
    static var computerName: String {
        // HOST_NAME_MAX is 64 (gethostname(2)).
        var buffer = [CChar](repeating: 0, count: 65)
        guard gethostname(&buffer, 64) == 0 else { return "Talkie" }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let label = name.prefix { $0 != "." }
        return label.isEmpty ? "Talkie" : TerminalText.printable(String(label))
    }
}
