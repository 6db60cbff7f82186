internal import Glibc
internal import MediaCore
package import Storage

/// What this computer keeps for good: who it is to speakers, their keys, and what playing to them has taught.
package struct SpeakerKnowledge: Sendable {
    let identity: InstallationIdentity
    package let pairings: PairingStore
    package let routes: RouteStore
    /// A sentence about what could not be kept or read.
    package let note: String?

    package init(folder: StateFolder = .standard()) {
        let (identity, note) = InstallationIdentity.load(from: folder)
        self.identity = identity
        self.note = note
        pairings = PairingStore(folder, identity: identity)
        routes = RouteStore(folder)
    }

    /// As speakers list this computer.
    package var sender: SenderIdentity { identity.sender(name: Self.computerName) }

    /// The computer's own name, without a domain.
    package static var computerName: String {
        // HOST_NAME_MAX is 64 (gethostname(2)).
        var buffer = [CChar](repeating: 0, count: 65)
        guard gethostname(&buffer, 64) == 0 else { return "Talkie" }
        let name = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let label = name.prefix { $0 != "." }
        return label.isEmpty ? "Talkie" : PrintableText.of(String(label))
    }
}
