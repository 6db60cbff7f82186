import AirPlayWire
import MediaCore
import Profiles
import Routing

@testable import AirPlay
@testable import AirPlayTransport
@testable import Storage
@testable import TalkieApp

/// A kind of file in the state folder: its path, how it is read, and what the program writes to replace it.
struct KeptFile: Sendable {
    struct Found: Hashable {
        /// True if the file contained anything usable.
        var isUsed: Bool
        /// Text form of everything that was read.
        var text: String
        var note: String?
    }

    var file: String
    var kind: String
    var read: @Sendable (StateFolder) -> Found
    /// Writes what was read, or a default if there was nothing.
    var write: @Sendable (StateFolder) -> Void

    static let all = [identity, pairing, route, profile, history, receiver, places]

    private static let speaker = SpeakerID("A1B2C3D4E5F6")!
    private static let own = loadIdentity()

    /// Returns the identity of an installation that is always the same.
    private static func loadIdentity() -> InstallationIdentity {
        let state = StateFolder(path: "/dev/shm/talkie-fuzz-own")
        var record = StateRecord(kind: InstallationIdentity.kind, version: InstallationIdentity.version)
        record["number"] = "00000000000000AA"
        record["seed"] = String(repeating: "07", count: 32)
        try? state.write(InstallationIdentity.file, record.encoded())
        return InstallationIdentity.load(from: state).identity
    }

    private static let identity = KeptFile(file: "identity", kind: "identity") { state in
        let (identity, note) = InstallationIdentity.load(from: state)
        return Found(isUsed: identity.isKept, text: identity.isKept ? "\(identity.number)" : "", note: note)
    } write: {
        _ = InstallationIdentity.load(from: $0)
    }

    private static let pairing = KeptFile(file: "pairings/\(speaker.digits)", kind: "pairing") { state in
        let store = PairingStore(state, identity: own)
        let (credentials, note) = store.credentials(for: speaker)
        precondition(credentials.accessory.map { $0.publicKey.count == 32 && !$0.identifier.isEmpty } ?? true)
        // The owner of a file does not depend on its contents.
        precondition(store.speakers.allSatisfy { $0 == speaker } && store.requests.ids.isSubset(of: [speaker]))
        precondition(store.predecessor(of: speaker, .id(speaker), name: "Kitchen") == nil)
        let other = store.predecessor(of: nil, .name("Kitchen"), name: "Kitchen")
        precondition(other == nil || store.speakers(known: .name("Kitchen")) == [speaker])
        let name = store.name(of: speaker)
        return Found(isUsed: name.name != nil, text: "\(credentials)", note: note ?? name.note)
    } write: { state in
        let store = PairingStore(state, identity: own)
        let credentials = store.credentials(for: speaker).credentials
        let name = store.name(of: speaker).name ?? "Kitchen"
        try? store.store(credentials, for: speaker, SpeakerContact(name: name, query: .name(name)))
    }

    private static let route = KeptFile(file: "routes/\(speaker.digits)", kind: "route") { state in
        let (memory, note) = RouteStore(state).memory(of: speaker)
        let words = memory.map { memory in
            "\(memory.route?.rawValue ?? "") \(memory.role?.rawValue ?? "") "
                + "\(memory.hasProbed) \(memory.sourceVersion ?? "")"
        }
        return Found(isUsed: memory != nil, text: words ?? "", note: note)
    } write: { state in
        let store = RouteStore(state)
        try? store.remember(store.memory(of: speaker).memory ?? RouteMemory(), of: speaker)
    }

    private static let profile = KeptFile(file: "profiles/speaker.0", kind: "profile") { state in
        let (profiles, notes) = ProfileStore(state).all()
        for profile in profiles {
            precondition(profile.offset.map { $0.magnitude <= 5000 } ?? true && profile.shares.count <= 16)
            precondition(LatencyProfile.Key.isSpeakerKey(profile.key.speaker), "a key is the name of a file")
        }
        let text = profiles.map(\.text).sorted().joined(separator: "\n")
        return Found(isUsed: !profiles.isEmpty, text: text, note: notes.first)
    } write: { state in
        let store = ProfileStore(state)
        let known = store.all().profiles
        let key = LatencyProfile.Key(speaker: "hw-0", screen: "X", mode: "60-Hz window", route: "card")
        try? store.store(known.isEmpty ? [LatencyProfile(key: key, speakerName: "Card")] : known)
    }

    private static let history = KeptFile(file: "route-habits", kind: "route-habits") { state in
        let history = RouteHistory(state)
        let (entries, note) = history.read()
        precondition(entries.count <= RouteHistory.maxEntries)
        precondition(entries.allSatisfy { (0..<24).contains($0.hour) && !$0.routes.isEmpty && $0.routes.count <= 16 })
        let likely = history.likely(folder: entries.last?.folder ?? 0, hour: 20, minutes: 90)
        precondition(likely.routes.map { routes in entries.contains { $0.routes.sorted() == routes } } ?? true)
        // Only the newest entry is compared.
        return Found(isUsed: !entries.isEmpty, text: entries.last.map { "\($0)" } ?? "", note: note)
    } write: { state in
        let entry = RouteHistory.Entry(folder: 7, hour: 20, minutes: 90, routes: ["card"])
        _ = try? RouteHistory(state).append(entry)
    }

    private static let places = KeptFile(file: "film-places", kind: "film-places") { state in
        let (entries, note) = ResumePositionStore(state).read()
        precondition(entries.count <= ResumePositionStore.maxFilms && entries.allSatisfy { $0.position > .zero })
        return Found(isUsed: !entries.isEmpty, text: entries.last.map { "\($0)" } ?? "", note: note)
    } write: { state in
        guard let film = ResumePositionStore(state).read().entries.last?.film ?? FilmKey(kept: "00000000000000AA")
        else {
            return
        }
        let place = ResumePositionStore(state).read().entries.last?.position ?? MediaTime(value: 1, timescale: 1)
        try? ResumePositionStore(state).store(place, of: film)
    }

    private static let receiver = KeptFile(file: "receivers/41", kind: "receiver") { state in
        let (content, note) = SoftwareSpeakerStore(name: "A", folder: state).read()
        precondition(content.map { $0.seed.count == 32 && $0.senders.allSatisfy { $0.key.count == 32 } } ?? true)
        return Found(isUsed: content != nil, text: content.map { "\($0)" } ?? "", note: note)
    } write: { state in
        let store = SoftwareSpeakerStore(name: "A", folder: state)
        let empty = SoftwareSpeakerStore.Content(seed: [UInt8](repeating: 1, count: 32), senders: [])
        _ = store.write(store.read().content ?? empty)
    }
}
