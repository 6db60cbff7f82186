internal import Glibc
internal import MediaCore
package import Storage

/// What this computer keeps for good: who it is to speakers, their keys, and what playing to them has taught.
package struct SpeakerKnowledge: Sendable {
    let folder: StateFolder
    let identity: InstallationIdentity
    package let pairings: PairingStore
    package let routes: RouteStore
    private let found: StateNotes

    package init(folder: StateFolder = .standard()) {
        let (identity, note) = InstallationIdentity.load(from: folder)
        self.folder = folder
        self.identity = identity
        found = StateNotes(note)
        pairings = PairingStore(folder, identity: identity)
        routes = RouteStore(folder)
    }

    /// Sentences about what could not be kept or read so far.
    package var notes: [String] { found.all }

    /// What opens a speaker; nothing when nothing is kept. Reads a file.
    package func credentials(for speaker: SpeakerID) -> SpeakerCredentials {
        let (credentials, note) = pairings.credentials(for: speaker)
        found.add(note)
        return credentials
    }

    /// What playing to a speaker has taught; nil when nothing is kept. Reads a file.
    package func memory(of speaker: SpeakerID) -> RouteMemory? {
        let (memory, note) = routes.memory(of: speaker)
        found.add(note)
        return memory
    }

    /// What a speaker was called when its keys were kept; nil when there are none. Reads a file.
    package func name(of speaker: SpeakerID) -> String? {
        let (name, note) = pairings.name(of: speaker)
        found.add(note)
        return name
    }

    /// See `PairingStore.predecessor`. Reads files; those that cannot be read are among the notes.
    func predecessor(of speaker: SpeakerID?, _ query: SpeakerQuery?, name: String) -> SpeakerID? {
        pairings.predecessor(of: speaker, query, name: name) { found.add($0) }
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
