import Foundation
import Glibc
import MediaCore
import PTP
import Testing

@testable import AirPlay
@testable import AirPlayTransport
@testable import AirPlayWire
@testable import Storage

/// A temporary state folder.
final class ScratchState {
    let path = "/tmp/talkie-state-\(UUID().uuidString)/talkie"
    var folder: StateFolder { StateFolder(path: path) }

    deinit { try? FileManager.default.removeItem(atPath: String(path.dropLast("/talkie".count))) }

    func mode(_ name: String) -> mode_t? {
        var status = stat()
        return stat("\(path)/\(name)", &status) == 0 ? status.st_mode & 0o777 : nil
    }
}

@Suite struct StateFolderTests {
    private let scratch = ScratchState()

    /// A kiosk whose state root has changed.
    @Test func whatBelongsToAnotherUserIsNamedWithItsOwner() throws {
        let path = FileManager.default.temporaryDirectory.path + "/talkie-owner-\(UUID().uuidString)"
        defer { unlink(path) }
        try Data().write(to: URL(filePath: path))
        // Root gives a file away; for others that of root is another user's.
        let other = geteuid() == 0 ? path : "/etc/none"
        if geteuid() == 0 { try #require(chown(path, 65534, 65534) == 0) }
        errno = EACCES
        let owner = geteuid() == 0 ? "nobody" : "root"
        #expect(StateFolder.inaccessible("read", other).message.contains("; it belongs to '\(owner)')"))
        let place = FileManager.default.currentDirectoryPath
        errno = EACCES
        let own = StateFolder.inaccessible("read", place)
        #expect(!own.message.contains("belongs"))
        errno = ENOSPC
        #expect(!StateFolder.inaccessible("write", other).message.contains("belongs"))
    }

    @Test func filesAndFoldersAreForTheirOwnerOnly() throws {
        try FileManager.default.createDirectory(atPath: scratch.path, withIntermediateDirectories: true)
        chmod(scratch.path, 0o755)
        try scratch.folder.write("pairings/A", [1, 2])
        #expect(scratch.mode("") == 0o700)
        #expect(scratch.mode("pairings") == 0o700)
        #expect(scratch.mode("pairings/A") == 0o600)
        #expect(try scratch.folder.read("pairings/A") == [1, 2])
        #expect(try scratch.folder.read("pairings/B") == nil)
    }

    @Test func aFileIsReplacedWholeAndLeavesNothingBehind() throws {
        try scratch.folder.write("x", [1])
        let before = try FileHandle(forReadingFrom: URL(filePath: "\(scratch.path)/x"))
        try scratch.folder.write("x", [2, 3])
        // A reader that opened the file before its replacement reads the old contents.
        #expect(try before.readToEnd() == Data([1]))
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["x"])
    }

    @Test func whatAProcessLeftThatEndedWhileItWroteIsSweptAway() throws {
        try scratch.folder.write("x", [1])
        // No process ID exceeds the kernel's maximum (proc(5), pid_max).
        for name in [".new-4194305-7", ".new-\(getpid())-8", ".new-once", ".newer"] {
            try Data([1]).write(to: URL(filePath: "\(scratch.path)/\(name)"))
        }
        try scratch.folder.write("x", [2])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted()
                == [".new-\(getpid())-8", ".new-once", ".newer", "x"])
    }

    /// `flock` treats two descriptors of one process like two processes.
    @Test func ofTwoWritersWhoReadFirstNeitherLosesWhatTheOtherWrote() throws {
        let folder = scratch.folder
        @Sendable func count() throws {
            try folder.exclusively { () throws(StateError) in
                let before = try folder.read("count") ?? []
                try folder.write("count", before + [1])
            }
        }
        let failures = Lock<[String]>([])
        let writers = try (0..<4).map { _ in
            try WorkerThread.start(name: "writer") {
                for _ in 0..<10 { do { try count() } catch { failures.withLock { $0.append("\(error)") } } }
            }
        }
        for writer in writers { writer.join() }
        #expect(failures.withLock { $0 } == [])
        #expect(try folder.read("count")?.count == 40)
        #expect(scratch.mode(".lock") == 0o600)
    }

    @Test func aHeldLockIsReportedAndNothingIsChanged() throws {
        let folder = scratch.folder
        try folder.write("x", [1])
        try folder.exclusively { () throws(StateError) in
            var hasRun = false
            do throws(StateError) {
                try folder.exclusively(waiting: .milliseconds(20)) { () throws(StateError) in hasRun = true }
            } catch {
                #expect(error.code == .busy)
            }
            #expect(!hasRun)
        }
        #expect(try folder.read("x") == [1])
    }

    /// The kernel releases the lock of a killed process.
    @Test func aLockThatAProcessHeldWhichWasKilledIsFree() throws {
        let folder = scratch.folder
        try folder.exclusively { () throws(StateError) in }
        let holder = Process()
        holder.executableURL = URL(filePath: "/usr/bin/flock")
        holder.arguments = [scratch.path + "/.lock", "sh", "-c", "echo held; exec sleep 60"]
        let pipe = Pipe()
        holder.standardOutput = pipe
        try holder.run()
        _ = try pipe.fileHandleForReading.read(upToCount: 5)
        #expect(throws: StateError.self) {
            try folder.exclusively(waiting: .milliseconds(20)) { () throws(StateError) in }
        }
        for pid in [holder.processIdentifier] + children(of: holder.processIdentifier) { kill(pid, SIGKILL) }
        holder.waitUntilExit()
        try folder.exclusively { () throws(StateError) in }
    }

    private func children(of parent: pid_t) -> [pid_t] {
        let list = try? String(contentsOfFile: "/proc/\(parent)/task/\(parent)/children", encoding: .utf8)
        return (list ?? "").split(separator: " ").compactMap { pid_t($0) }
    }

    @Test func onlyOneOfTwoMakesAFile() throws {
        #expect(try scratch.folder.create("x", [1]))
        #expect(try !scratch.folder.create("x", [2]))
        #expect(try scratch.folder.read("x") == [1])
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["x"])
    }

    @Test func whatIsNoFileIsAnErrorAndNoCrash() throws {
        try scratch.folder.write("folder/x", [1])
        #expect(throws: StateError.self) { try scratch.folder.read("folder") }
        symlink("/etc/passwd", "\(scratch.path)/link")
        #expect(throws: StateError.self) { try scratch.folder.read("link") }
        mkfifo("\(scratch.path)/pipe", 0o600)
        #expect(try scratch.folder.read("pipe") == [])
    }
}

@Suite struct OutputFileTests {
    private let scratch = ScratchState()

    init() throws {
        try FileManager.default.createDirectory(atPath: scratch.path, withIntermediateDirectories: true)
    }

    @Test func aPipeWhoseReaderIsSlowReceivesAll() throws {
        let pipe = "\(scratch.path)/pipe"
        mkfifo(pipe, 0o600)
        // Before the writer, which refuses a pipe without a reader.
        let descriptor = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(descriptor) }
        _ = fcntl(descriptor, F_SETFL, 0)
        let received = Lock(0)
        let reader = try WorkerThread.start(name: "reader") {
            HostInstant.now.advanced(by: .milliseconds(100)).sleep()
            var buffer = [UInt8](repeating: 0, count: 10_000)
            var count = 1
            while count > 0 {
                count = read(descriptor, &buffer, buffer.count)
                received.withLock { $0 += max(0, count) }
            }
        }
        try OutputFile.write([UInt8](repeating: 1, count: 1 << 20), to: pipe, what: "the plot")
        reader.join()
        #expect(received.withLock { $0 } == 1 << 20)
    }

    @Test func aNameThatIsNotUTF8IsThatOfTheFile() throws {
        let name = "\(scratch.path)/" + FileName.text([0x63, 0x61, 0x66, 0xE9])
        try OutputFile.write("plot", to: name, what: "the plot")
        #expect(access(name.systemPath, F_OK) == 0)
        let descriptor = PrivateFile.create(name + "2", O_WRONLY)
        #expect(descriptor >= 0 && access((name + "2").systemPath, F_OK) == 0)
        close(descriptor)
    }
}

@Suite struct StateRecordTests {
    private func record() -> StateRecord {
        var record = StateRecord(kind: "pairing", version: 1)
        record["a"] = "1"
        record["empty"] = ""
        record["text"] = "two words\nand a line"
        return record
    }

    @Test func aRecordIsReadAsItWasWritten() throws {
        let read = try StateRecord(kind: "pairing", version: 1, decoding: record().encoded())
        #expect(read == record())
        #expect(read["text"] == "two words\u{FFFD}and a line")
        #expect(read["empty"] == "")
    }

    @Test func aValueThatIsTakenBackLeavesNothingAndOneThatIsGivenAgainIsWrittenOnce() {
        var changed = record()
        changed["later"] = nil
        #expect(changed == record(), "nothing was taken back")
        changed["later"] = "1"
        changed["later"] = nil
        #expect(changed == record())
        changed["text"] = nil
        changed["text"] = "again"
        let lines = String(decoding: changed.encoded(), as: UTF8.self).split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("text ") } == ["text again"])
    }

    @Test func everyChangedByteIsNoticed() {
        let bytes = record().encoded()
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(throws: StateRecord.Failure.self, "byte \(index)") {
                try StateRecord(kind: "pairing", version: 1, decoding: changed)
            }
        }
        for count in 0..<bytes.count {
            #expect(throws: StateRecord.Failure.self) {
                try StateRecord(kind: "pairing", version: 1, decoding: Array(bytes.prefix(count)))
            }
        }
    }

    @Test func aLaterVersionIsDistinguishedFromDamage() {
        let error = #expect(throws: StateRecord.Failure.self) {
            try StateRecord(kind: "pairing", version: 1, decoding: Array("talkie pairing 2\n{anything\n".utf8))
        }
        #expect(error == .newer(2))
    }
}

@Suite struct IdentityAndPairingStoreTests {
    private let scratch = ScratchState()
    private let speaker = SpeakerID("A1B2C3D4E5F6")!
    private let accessory = PairedAccessory(identifier: [1, 0, 255], publicKey: [UInt8](repeating: 7, count: 32))

    private func store() -> PairingStore {
        PairingStore(scratch.folder, identity: InstallationIdentity.load(from: scratch.folder).identity)
    }

    @Test func anInstallationIsTheSameOnEveryStart() {
        let first = InstallationIdentity.load(from: scratch.folder)
        let second = InstallationIdentity.load(from: scratch.folder)
        #expect(first.note == nil)
        #expect(first.identity.number == second.identity.number)
        #expect(first.identity.pairing.publicKey == second.identity.pairing.publicKey)
        #expect(first.identity.isKept && second.identity.isKept)
        #expect(scratch.mode("identity") == 0o600)
    }

    @Test func everyNameOnTheWireIsTheOneNumber() {
        let identity = InstallationIdentity.load(from: scratch.folder).identity
        let sender = identity.sender(name: "x")
        #expect(sender.clock.rawValue == identity.number)
        #expect(identity.pairing.identifier == sender.remoteControlID)
        #expect(identity.pairing.identifier.count == 16)
        // Locally administered, individual address (IEEE 802, section 8.2).
        #expect(identity.number >> 56 & 3 == 2)
    }

    @Test func aDamagedIdentityIsSetAsideAndReplaced() throws {
        let first = InstallationIdentity.load(from: scratch.folder).identity
        try scratch.folder.write("identity", [0xFF, 0x00])
        let (second, note) = InstallationIdentity.load(from: scratch.folder)
        #expect(note?.contains("identity.damaged") == true)
        #expect(second.number != first.number)
        #expect(second.isKept)
        #expect(InstallationIdentity.load(from: scratch.folder).identity.number == second.number)
    }

    @Test func aNewerIdentityIsKeptAndTheProgramContinues() throws {
        let newer = Array("talkie identity 9\nwhatever\n".utf8)
        try scratch.folder.write("identity", newer)
        let (identity, note) = InstallationIdentity.load(from: scratch.folder)
        #expect(!identity.isKept)
        #expect(note?.contains("newer") == true)
        #expect(try scratch.folder.read("identity") == newer)
        #expect(throws: StateError.self) {
            try PairingStore(scratch.folder, identity: identity)
                .store(SpeakerCredentials(accessory: accessory), for: speaker, name: "K")
        }
    }

    @Test func whereNothingCanBeKeptTheIdentityLastsForTheRun() {
        let (identity, note) = InstallationIdentity.load(from: StateFolder(path: "/proc/talkie"))
        #expect(!identity.isKept)
        #expect(note?.contains("/proc/talkie") == true)
    }

    @Test func credentialsAreKeptAndForgotten() throws {
        let credentials = SpeakerCredentials(accessory: accessory, password: "öffne dich")
        try store().store(credentials, for: speaker, name: "Küche")
        #expect(store().credentials(for: speaker).credentials == credentials)
        #expect(store().speakers == [speaker])
        #expect(scratch.mode("pairings/A1B2C3D4E5F6") == 0o600)
        let file = try #require(try scratch.folder.read("pairings/A1B2C3D4E5F6"))
        #expect(!String(decoding: file, as: UTF8.self).contains("dich"))
        #expect(try store().forget(speaker))
        #expect(try !store().forget(speaker))
        #expect(store().credentials(for: speaker).credentials == SpeakerCredentials())
    }

    /// The file may contain the keys of the named speaker, so a speaker that takes its name must be reported.
    @Test func aPairingThatCannotBeReadIsReportedWhenAnotherSpeakerHasItsName() throws {
        let knowledge = SpeakerKnowledge(folder: scratch.folder)
        try knowledge.pairings.store(SpeakerCredentials(accessory: accessory), for: speaker, name: "Kitchen")
        #expect(knowledge.predecessor(of: nil, .name("Kitchen"), name: "Kitchen") == speaker)
        #expect(knowledge.notes.isEmpty)
        try scratch.folder.write("pairings/A1B2C3D4E5F6", Array("talkie pairing 9\nwhatever\n".utf8))
        #expect(knowledge.predecessor(of: nil, .name("Kitchen"), name: "Kitchen") == nil)
        #expect(knowledge.notes.count == 1 && knowledge.notes[0].contains("newer"))
    }

    @Test func aDamagedPairingCostsThatPairingOnly() throws {
        let other = SpeakerID("020000000001")!
        try store().store(SpeakerCredentials(accessory: accessory), for: speaker, name: "A")
        try store().store(SpeakerCredentials(accessory: accessory), for: other, name: "B")
        var bytes = try #require(try scratch.folder.read("pairings/A1B2C3D4E5F6"))
        bytes[30] ^= 4
        try scratch.folder.write("pairings/A1B2C3D4E5F6", bytes)
        let (credentials, note) = store().credentials(for: speaker)
        #expect(credentials.accessory == nil)
        #expect(note?.contains("damaged") == true)
        #expect(try scratch.folder.read("pairings/A1B2C3D4E5F6.damaged") == bytes)
        #expect(store().credentials(for: speaker).note == nil)
        #expect(store().credentials(for: other).credentials.accessory == accessory)
        #expect(store().speakers == [other])
    }

    @Test func aNewerPairingIsNeitherReadNorOverwritten() throws {
        let newer = Array("talkie pairing 2\nx\n".utf8)
        try scratch.folder.write("pairings/A1B2C3D4E5F6", newer)
        #expect(store().credentials(for: speaker).note?.contains("newer") == true)
        let error = #expect(throws: StateError.self) {
            try store().store(SpeakerCredentials(accessory: accessory), for: speaker, name: "A")
        }
        #expect(error?.code == .newer)
        #expect(try scratch.folder.read("pairings/A1B2C3D4E5F6") == newer)
    }

    @Test func keysOfAnEarlierIdentityAreNotUsed() throws {
        try store().store(SpeakerCredentials(accessory: accessory, password: "p"), for: speaker, name: "A")
        try scratch.folder.remove("identity")
        let (credentials, note) = store().credentials(for: speaker)
        #expect(credentials == SpeakerCredentials(password: "p"))
        #expect(note?.contains("pair it again") == true)
    }

    @Test func whatWasLearnedOfARouteIsRemembered() throws {
        let routes = RouteStore(scratch.folder)
        #expect(routes.memory(of: speaker).memory == nil)
        let memory = RouteMemory(
            route: .realtime, role: .follower, isRoleOfGroup: true, hasProbed: true, sourceVersion: "366.0",
            stated: StatedLatency(arrivalToRender: .milliseconds(85), output: .microseconds(250_001)))
        try routes.remember(memory, of: speaker)
        #expect(routes.memory(of: speaker).memory == memory)
        try routes.remember(RouteMemory(), of: speaker)
        #expect(routes.memory(of: speaker).memory == RouteMemory())
        try scratch.folder.write("routes/A1B2C3D4E5F6", [1])
        #expect(routes.memory(of: speaker).memory == nil)
    }
}
