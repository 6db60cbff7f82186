package import AirPlayTransport
internal import MediaCore
package import Storage

/// The permanent state about speakers: the identity of this computer, pairings, and what sessions have revealed.
package struct SpeakerKnowledge: Sendable {
    let folder: StateFolder
    let identity: InstallationIdentity
    package let pairings: PairingStore
    let routes: RouteStore
    private let found: StateNotes

    package init(folder: StateFolder = .standard()) {
        let (identity, note) = InstallationIdentity.load(from: folder)
        self.folder = folder
        self.identity = identity
        found = StateNotes(note)
        pairings = PairingStore(folder, identity: identity)
        routes = RouteStore(folder)
    }

    /// Sentences about state that could not be read or stored so far.
    package var notes: [String] { found.all }

    /// Returns the credentials of a speaker; empty if there are none. Reads a file.
    func credentials(for speaker: SpeakerID) -> SpeakerCredentials {
        let (credentials, note) = pairings.credentials(for: speaker)
        found.add(note)
        return credentials
    }

    /// Returns the stored knowledge about driving a speaker; nil if nothing is stored. Reads a file.
    func memory(of speaker: SpeakerID) -> RouteMemory? {
        let (memory, note) = routes.memory(of: speaker)
        found.add(note)
        return memory
    }

    /// Returns the name of a speaker when its credentials were stored; nil if there are none. Reads a file.
    func name(of speaker: SpeakerID) -> String? {
        let (name, note) = pairings.name(of: speaker)
        found.add(note)
        return name
    }

    /// See `PairingStore.predecessor`. Reads files; those that cannot be read are among the notes.
    func predecessor(of speaker: SpeakerID?, _ query: SpeakerQuery?, name: String) -> SpeakerID? {
        pairings.predecessor(of: speaker, query, name: name) { found.add($0) }
    }

    /// The sender identity with the computer's name.
    var sender: SenderIdentity { identity.sender(name: SenderIdentity.computerName) }
}
