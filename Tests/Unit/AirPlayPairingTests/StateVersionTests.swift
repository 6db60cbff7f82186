import AirPlayWire
import Foundation
import MediaCore
import Routing
import Storage
import Testing

@testable import AirPlay
@testable import AirPlayTransport

/// Reads a copy of the state folder that commit b004e64 wrote (Tests/Fixtures/state-version-1).
@Suite struct StateVersionTests {
    private let scratch = ScratchState()
    private let kitchen = SpeakerID("3EA790B32481")!
    private let salon = SpeakerID("0673FDC91C6A")!
    private let attic = SpeakerID("32917639D9AC")!

    init() throws {
        let fixture = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Fixtures/state-version-1/talkie")
        let files = try #require(FileManager.default.enumerator(atPath: fixture.path))
        for case let name as String in files {
            let file = fixture.appending(path: name)
            guard try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { continue }
            try scratch.folder.write(name, Array(try Data(contentsOf: file)))
        }
    }

    private func store() -> PairingStore {
        PairingStore(scratch.folder, identity: InstallationIdentity.load(from: scratch.folder).identity)
    }

    /// Replaces a file by one of the next version; only the first line of its format is defined.
    private func age(_ name: String, kind: String) throws -> [UInt8] {
        let newer = Array("talkie \(kind) 2\n{}\n".utf8)
        try scratch.folder.write(name, newer)
        return newer
    }

    private func spoil(_ name: String) throws -> [UInt8] {
        var bytes = try #require(try scratch.folder.read(name))
        bytes[bytes.count / 2] ^= 1
        try scratch.folder.write(name, bytes)
        return bytes
    }

    @Test func thisComputerIsStillWhoItWas() {
        let (identity, note) = InstallationIdentity.load(from: scratch.folder)
        #expect(note == nil && identity.isKept)
        #expect(identity.number == 0xBA04_3F73_8686_9DCE)
        #expect(identity.pairing.identifier == "BA043F7386869DCE")
        #expect(
            Hexadecimal.text(identity.pairing.publicKey)
                == "59CC675538877EC54D54B04E57DA1C60DF2033EAE187B685A39E98BB7987D6E1")
    }

    @Test func pairedSpeakersStillOpen() throws {
        #expect(Set(store().speakers) == [kitchen, salon])
        #expect(store().name(of: kitchen).name == "Küche" && store().name(of: salon).name == "Salon")
        let (keys, note) = store().credentials(for: kitchen)
        #expect(note == nil && keys.password == nil)
        let accessory = try #require(keys.accessory)
        #expect(String(decoding: accessory.identifier, as: UTF8.self) == "FB9C3FA7-90B3-4481-8A95-8D4C6FF330AA")
        #expect(
            Hexadecimal.text(accessory.publicKey)
                == "8B6145421C6EAC7F8C19DEEDB0644BC4AC223A51C596C3BACC2358D77B74106C")
        #expect(store().credentials(for: salon).credentials == SpeakerCredentials(password: "öffne dich"))
        #expect(store().credentials(for: salon).note == nil)
    }

    @Test func whatPlayingHasTaughtIsStillKnown() {
        let routes = RouteStore(scratch.folder)
        for (speaker, route, role) in [
            (kitchen, Route.buffered, ClockRole.grandmaster), (salon, .realtimeNTP, .grandmaster),
            (attic, .buffered, .follower),
        ] {
            let (memory, note) = routes.memory(of: speaker)
            #expect(memory == RouteMemory(route: route, role: role, sourceVersion: "366.0") && note == nil)
        }
    }

    @Test func whereTheSoundWentIsStillKnownAndTheFolderIsTheSame() {
        let (entries, note) = RouteHistory(scratch.folder).read()
        let folder = RouteHistory.folder(of: "flash-and-beep.mp4")
        #expect(note == nil)
        #expect(
            entries
                == ["3E:A7:90:B3:24:81", "06:73:FD:C9:1C:6A", "32:91:76:39:D9:AC"].map {
                    RouteHistory.Entry(folder: folder, hour: 11, minutes: 0, routes: [$0])
                })
    }

    @Test func readingChangesNothing() throws {
        func content() -> [String] {
            (FileManager.default.enumerator(atPath: scratch.path)?.allObjects as? [String] ?? []).sorted()
        }
        let before = content()
        for speaker in [kitchen, salon, attic] {
            _ = store().credentials(for: speaker)
            _ = RouteStore(scratch.folder).memory(of: speaker)
        }
        _ = RouteHistory(scratch.folder).read()
        #expect(content() == before)
    }

    // MARK: Unreadable files

    @Test func aDamagedIdentityIsSetAsideAndReportedWithItsPairings() throws {
        let bytes = try spoil("identity")
        let (identity, note) = InstallationIdentity.load(from: scratch.folder)
        #expect(note?.contains("identity.damaged") == true && identity.isKept)
        #expect(try scratch.folder.read("identity.damaged") == bytes)
        let (keys, keysNote) = PairingStore(scratch.folder, identity: identity).credentials(for: kitchen)
        #expect(keys.accessory == nil && keysNote?.contains("pair it again") == true)
    }

    @Test func aDamagedPairingIsSetAsideAndReported() throws {
        let bytes = try spoil("pairings/3EA790B32481")
        #expect(store().credentials(for: kitchen).note?.contains("3EA790B32481.damaged") == true)
        #expect(try scratch.folder.read("pairings/3EA790B32481.damaged") == bytes)
        #expect(store().credentials(for: salon).credentials.password == "öffne dich")
    }

    @Test func newerKeysAreKeptAndReported() throws {
        let pairing = try age("pairings/3EA790B32481", kind: "pairing")
        #expect(store().credentials(for: kitchen).note?.contains("newer Talkie (version 2)") == true)
        #expect(throws: StateError.self) {
            try store().store(SpeakerCredentials(password: "x"), for: kitchen, name: "Küche")
        }
        #expect(try scratch.folder.read("pairings/3EA790B32481") == pairing)
        let identity = try age("identity", kind: "identity")
        #expect(InstallationIdentity.load(from: scratch.folder).note?.contains("newer Talkie (version 2)") == true)
        #expect(try scratch.folder.read("identity") == identity)
    }

    @Test func damagedRoutesAreSetAsideReportedAndRelearned() throws {
        let (route, history) = (try spoil("routes/3EA790B32481"), try spoil("route-habits"))
        let (lesson, lessonNote) = RouteStore(scratch.folder).memory(of: kitchen)
        #expect(lesson == nil && lessonNote?.contains("routes/3EA790B32481.damaged") == true)
        #expect(RouteStore(scratch.folder).memory(of: kitchen).note == nil, "once")
        let (entries, note) = RouteHistory(scratch.folder).read()
        #expect(entries.isEmpty && note?.contains("route-habits.damaged") == true)
        #expect(RouteHistory(scratch.folder).read().note == nil, "once")
        #expect(try scratch.folder.read("routes/3EA790B32481.damaged") == route)
        #expect(try scratch.folder.read("route-habits.damaged") == history)
        let memory = RouteMemory(route: .realtime, role: .grandmaster)
        try RouteStore(scratch.folder).remember(memory, of: kitchen)
        #expect(RouteStore(scratch.folder).memory(of: kitchen).memory == memory)
    }

    @Test func aHistoryFoundDamagedAtAnAppendIsReported() throws {
        _ = try spoil("route-habits")
        let entry = RouteHistory.Entry(folder: 1, hour: 1, minutes: 1, routes: ["local"])
        #expect(try RouteHistory(scratch.folder).append(entry)?.contains("route-habits.damaged") == true)
        #expect(RouteHistory(scratch.folder).read().entries == [entry])
        #expect(try RouteHistory(scratch.folder).append(entry) == nil)
    }

    @Test func newerRoutesAreReportedAndNotOverwritten() throws {
        let route = try age("routes/3EA790B32481", kind: "route")
        let history = try age("route-habits", kind: "route-habits")
        let (lesson, lessonNote) = RouteStore(scratch.folder).memory(of: kitchen)
        #expect(lesson == nil && lessonNote?.contains("newer Talkie (version 2)") == true)
        let (routes, note) = RouteHistory(scratch.folder).likely(folder: 1, hour: 1, minutes: 1)
        #expect(routes == nil && note?.contains("newer Talkie (version 2)") == true)
        let entry = RouteHistory.Entry(folder: 1, hour: 1, minutes: 1, routes: ["local"])
        #expect(throws: StateError.self) { try RouteStore(scratch.folder).remember(RouteMemory(), of: kitchen) }
        #expect(throws: StateError.self) { try RouteHistory(scratch.folder).append(entry) }
        #expect(try scratch.folder.read("routes/3EA790B32481") == route)
        #expect(try scratch.folder.read("route-habits") == history)
    }

    @Test func eachFileIsReportedOnce() throws {
        _ = try (spoil("pairings/3EA790B32481"), spoil("routes/3EA790B32481"))
        _ = try age("pairings/0673FDC91C6A", kind: "pairing")
        let knowledge = SpeakerKnowledge(folder: scratch.folder)
        #expect(knowledge.notes.isEmpty)
        for _ in 0..<3 {
            for speaker in [kitchen, salon, attic] {
                #expect(knowledge.credentials(for: speaker) == SpeakerCredentials())
                _ = knowledge.memory(of: speaker)
            }
        }
        let expected = ["pairings/3EA790B32481.damaged", "routes/3EA790B32481.damaged", "newer Talkie (version 2)"]
        #expect(
            knowledge.notes.count == expected.count && zip(knowledge.notes, expected).allSatisfy { $0.contains($1) })
        #expect(AirPlayProvider(knowledge: knowledge).notes == knowledge.notes)
    }

    @Test func aDamagedPairingFoundByNameIsReported() throws {
        _ = try spoil("pairings/3EA790B32481")
        let knowledge = SpeakerKnowledge(folder: scratch.folder)
        #expect(knowledge.name(of: kitchen) == nil && knowledge.name(of: salon) == "Salon")
        #expect(knowledge.notes.count == 1 && knowledge.notes[0].contains("3EA790B32481.damaged"))
    }
}
