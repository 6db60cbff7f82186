import Glibc
import MediaCore
import TalkieApp
import TalkieTestKit
import Testing

@testable import Storage

@Suite struct InputCheckTests {
    let folder = TemporaryFolder()

    private func objection(to name: String) -> String? {
        let failure = InputCheck.objection(to: name)
        #expect(failure == nil || failure?.exitStatus == 66)
        return failure?.message
    }

    @Test func aMissingFileIsNamed() throws {
        let message = try #require(objection(to: folder.path("no such film.mkv")))
        #expect(message.contains("there is no file") && message.contains("no such film.mkv"))
    }

    @Test func aFolderIsNoFilm() throws {
        #expect(try #require(objection(to: folder.path)).contains("is a folder"))
    }

    @Test func anEmptyFileIsNoFilm() throws {
        #expect(try #require(objection(to: folder.write("", to: "empty.mp4"))).contains("is empty"))
    }

    @Test func aPathThroughAFileAndASymlinkLoopAreReported() throws {
        let file = folder.write("x", to: "film")
        #expect(try #require(objection(to: file + "/film")).contains("not a folder"))
        #expect(symlink("circle", folder.path("circle")) == 0)
        #expect(try #require(objection(to: folder.path("circle"))).contains("circle"))
    }

    @Test func aNameThatIsTooLongOrEmptyIsRefused() {
        #expect(objection(to: String(repeating: "x", count: 100_000)) != nil)
        #expect(objection(to: "") != nil)
        #expect(objection(to: "film\0.mp4") != nil)
    }

    @Test func pipesStandardInputAndAddressesAreTried() {
        #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
        #expect(objection(to: folder.path("pipe")) == nil)
        #expect(objection(to: "-") == nil)
        #expect(objection(to: "https://example.org/film.mp4") == nil)
        #expect(objection(to: folder.write("x", to: "film")) == nil)
    }

    @Test func onlyASchemeMakesAnAddress() {
        #expect(InputCheck.isAddress("rtsp+tls://a"))
        #expect(!InputCheck.isAddress("://a"))
        #expect(!InputCheck.isAddress("1a://b"))
        #expect(!InputCheck.isAddress("my film: part 1.mp4"))
        #expect(!InputCheck.isAddress("a b://c"))
    }
}
