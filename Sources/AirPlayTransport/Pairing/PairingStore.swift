package import AirPlayWire
internal import MediaCore
package import Storage

/// The stored credentials of a speaker.
package struct SpeakerCredentials: Hashable, Sendable {
    /// The key from a pairing by PIN.
    package var accessory: PairedAccessory?
    package var password: String?
    /// Whether the password was given for classic AirPlay, which does not authenticate the speaker.
    package var isClassic: Bool

    package init(accessory: PairedAccessory? = nil, password: String? = nil, isClassic: Bool = false) {
        self.accessory = accessory
        self.password = password
        self.isClassic = isClassic
    }
}

/// The names and the address of a speaker when its credentials were stored.
package struct SpeakerContact: Sendable {
    /// The speaker's own name.
    package var name: String
    package var address: SpeakerAddress?
    /// The name given by the user.
    package var query: SpeakerQuery?

    package init(name: String, address: SpeakerAddress? = nil, query: SpeakerQuery? = nil) {
        self.name = name
        self.address = address
        self.query = query
    }
}

/// The credentials of paired speakers, one file each in `pairings/`, named by the speaker's identifier.
///
/// A damaged file is moved aside and the speaker counts as unpaired. A file of a newer version is left unchanged.
/// Methods block on the disk.
package struct PairingStore: Sendable {
    private static let folderName = "pairings"
    private static let kind = "pairing"
    private static let version = 1

    private let folder: StateFolder
    private let identity: InstallationIdentity

    package init(_ folder: StateFolder, identity: InstallationIdentity) {
        self.folder = folder
        self.identity = identity
    }

    /// Returns the credentials of a speaker.
    ///
    /// - Returns: Empty credentials if there are none or the file is unusable; then with a sentence for the user.
    package func credentials(for speaker: SpeakerID) -> (credentials: SpeakerCredentials, note: String?) {
        let (record, note) = record(of: speaker)
        guard let record else { return (SpeakerCredentials(), note) }
        do throws(StateError) { return try credentials(in: record, of: speaker) } catch {
            return (SpeakerCredentials(), error.message)
        }
    }

    /// Returns the record of a speaker; nil if there is none or it is unusable, then with a sentence for the user.
    private func record(of speaker: SpeakerID) -> (record: StateRecord?, note: String?) {
        let (record, note) = folder.contents(of: Self.name(speaker), kind: Self.kind, version: Self.version) { $0 }
        return (record, note)
    }

    private func credentials(
        in record: StateRecord, of speaker: SpeakerID
    ) throws(StateError) -> (credentials: SpeakerCredentials, note: String?) {
        var found = SpeakerCredentials()
        if let text = record["password"] {
            guard let bytes = Hexadecimal.bytes(text), let password = String(validating: bytes, as: UTF8.self) else {
                return (found, try folder.damaged(Self.name(speaker)))
            }
            found.password = password
            found.isClassic = record["protocol"] == "classic"
        }
        guard record["accessory"] != nil || record["accessory-key"] != nil else { return (found, nil) }
        guard let name = record["accessory"].flatMap({ Hexadecimal.bytes($0) }), !name.isEmpty,
            let key = record["accessory-key"].flatMap({ Hexadecimal.bytes($0) }), key.count == 32
        else { return (SpeakerCredentials(), try folder.damaged(Self.name(speaker))) }
        guard record["controller"] == identity.pairing.identifier,
            record["controller-key"] == Hexadecimal.text(identity.pairing.publicKey)
        else {
            return (
                found, "The speaker \(speaker) was paired under an earlier identity of this computer; pair it again."
            )
        }
        found.accessory = PairedAccessory(identifier: name, publicKey: key)
        return (found, nil)
    }

    /// Stores the credentials of a speaker, replacing earlier ones.
    ///
    /// - Throws: `StateError`; the earlier file is unchanged.
    package func store(
        _ credentials: SpeakerCredentials, for speaker: SpeakerID, _ contact: SpeakerContact
    ) throws(StateError) {
        guard identity.isKept else {
            throw StateError(
                .inaccessible,
                "The pairing cannot be stored because this computer's identity cannot be stored in \(folder.path)."
            )
        }
        var record = StateRecord(kind: Self.kind, version: Self.version)
        record["speaker"] = contact.name
        record["address"] = contact.address?.description
        switch contact.query {
        case .name(let name): record["called"] = PrintableText.of(name)
        case .address(let address): record["called"] = address.description
        case .id, .local, nil: break
        }
        if let accessory = credentials.accessory {
            record["accessory"] = Hexadecimal.text(accessory.identifier)
            record["accessory-key"] = Hexadecimal.text(accessory.publicKey)
            record["controller"] = identity.pairing.identifier
            record["controller-key"] = Hexadecimal.text(identity.pairing.publicKey)
        }
        record["password"] = credentials.password.map { Hexadecimal.text($0.utf8) }
        record["protocol"] = credentials.isClassic ? "classic" : nil
        try folder.replace(Self.name(speaker), with: record)
    }

    /// Stores the credentials of a speaker of which only the name is known.
    package func store(
        _ credentials: SpeakerCredentials, for speaker: SpeakerID, name: String
    ) throws(StateError) { try store(credentials, for: speaker, SpeakerContact(name: name)) }

    /// Removes a speaker's credentials. Returns false if there were none. The speaker still knows this installation.
    @discardableResult
    package func forget(_ speaker: SpeakerID) throws(StateError) -> Bool { try folder.remove(Self.name(speaker)) }

    /// When any process last stored or removed credentials, by the folder's modification time; nil before the first.
    package var changeTime: Int64? { folder.changeTime(of: Self.folderName) }

    /// All speakers with stored credentials.
    package var speakers: [SpeakerID] { folder.list(Self.folderName).compactMap { SpeakerID($0) } }

    /// Returns the speaker that was paired under the name or address of a query that now finds another speaker.
    ///
    /// - Parameters:
    ///   - speaker: The speaker found; nil if it does not state its ID.
    ///   - query: The user-provided query. A query by ID has no predecessor.
    ///   - name: The name that the speaker announces.
    ///   - note: Called with a sentence for each unreadable file.
    /// - Returns: Also nil for a speaker with stored credentials: it was paired by the user.
    package func predecessor(
        of speaker: SpeakerID?, _ query: SpeakerQuery?, name: String, note: (String) -> Void = { _ in }
    ) -> SpeakerID? {
        if let speaker {
            if query == .id(speaker) { return nil }
            // ignored: a record that cannot be read is one; reading its keys reports that.
            if case .absent? = try? folder.readRecord(Self.name(speaker), kind: Self.kind, version: Self.version) {
            } else {
                return nil
            }
        }
        // A speaker addressed by its address may have any name.
        if case .address? = query { return speakers.first { $0 != speaker && isKnown($0, by: query, note) } }
        return speakers.first { $0 != speaker && (isKnown($0, by: query, note) || isKnown($0, by: .name(name), note)) }
    }

    /// All paired speakers, for discovery. Reads one file per speaker.
    package var requests: SpeakerRequests {
        let all = speakers
        return SpeakerRequests(all.compactMap { name(of: $0).name.map { .name($0) } }, ids: Set(all))
    }

    /// Returns the speakers that were paired under a name or address. Reads one file per speaker.
    package func speakers(known query: SpeakerQuery) -> Set<SpeakerID> {
        Set(speakers.filter { isKnown($0, by: query) })
    }

    private func isKnown(
        _ speaker: SpeakerID, by query: SpeakerQuery?, _ note: (String) -> Void = { _ in }
    ) -> Bool {
        let (record, sentence) = record(of: speaker)
        if let sentence { note(sentence) }
        guard let record else { return false }
        switch query {
        case .name(let name):
            let wanted = PrintableText.of(name).lowercased()
            return [record["speaker"], record["called"]].contains { $0?.lowercased() == wanted }
        case .address(let address):
            return [record["address"], record["called"]].contains(address.description)
        case .id(let id): return id == speaker
        case .local, nil: return false
        }
    }

    /// Returns the name of a speaker when its credentials were stored.
    ///
    /// - Returns: Nil if there are none or the file is unusable; then with a sentence for the user.
    package func name(of speaker: SpeakerID) -> (name: String?, note: String?) {
        let (record, note) = record(of: speaker)
        return (record?["speaker"], note)
    }

    private static func name(_ speaker: SpeakerID) -> String { "\(folderName)/\(speaker.digits)" }
}
