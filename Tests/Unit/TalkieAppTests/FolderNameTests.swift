import Glibc
import MediaCore
import TalkieTestKit
import Testing

@testable import Storage

/// Folders whose names are not UTF-8, as a HOME from another system may be.
@Suite struct FolderNameTests {
    private let folder = TemporaryFolder()
    /// "café" in Latin-1.
    private var bytes: [UInt8] { Array(folder.path("caf").utf8) + [0xE9] }
    private var path: String { FileName.text(bytes) }

    @Test func theFolderIsThatOfTheEnvironment() async {
        // A process of its own: others read the environment meanwhile, which setenv(3) does not allow.
        await #expect(processExitsWith: .success) {
            let bytes = Array("/home/caf".utf8) + [0xE9]
            let value = bytes.map { CChar(bitPattern: $0) } + [0]
            setenv("XDG_CONFIG_HOME", value, 1)
            setenv("XDG_STATE_HOME", "relative", 1)
            setenv("HOME", value, 1)
            #expect(FileName.bytes(ConfigFolder.standard().path) == bytes + Array("/talkie".utf8))
            #expect(FileName.bytes(StateFolder.standard().path) == bytes + Array("/.local/state/talkie".utf8))
        }
    }

    @Test func stateIsStoredInAFolderWhoseNameIsNotUTF8() throws {
        let state = StateFolder(path: path)
        try state.exclusively { () throws(StateError) in try state.write("rooms/a", [1]) }
        #expect(access(bytes.map { CChar(bitPattern: $0) } + [0], F_OK) == 0)
        #expect(try state.create("rooms/b", [2]))
        #expect(try !state.create("rooms/b", [3]))
        #expect(try state.read("rooms/a") == [1] && state.read("rooms/b") == [2])
        #expect(state.list("rooms") == ["a", "b"] && state.changeTime(of: "rooms") != nil)
        _ = try state.setAside("rooms/a")
        #expect(try state.remove("rooms/b"))
        #expect(state.list("rooms").isEmpty)
    }

    @Test func configurationIsReadFromAFolderWhoseNameIsNotUTF8() throws {
        let config = ConfigFolder(path: path)
        #expect(try config.read("talkie.conf") == nil)
        #expect(mkdir(path.systemPath, 0o700) == 0)
        try OutputFile.write("volume=50", to: path + "/talkie.conf", what: "a test")
        #expect(try config.read("talkie.conf")?.bytes == Array("volume=50".utf8))
    }
}
