import Foundation
import MediaCore
import TalkieTestKit
import Testing

@testable import TalkieApp

@Suite struct LogFileTests {
    private let folder = TemporaryFolder()

    @Test func linesHaveTimeAndLevelAndTheFileIsItsOwners() throws {
        let path = folder.path("log")
        let log = try LogFile(creating: path)
        log.write(.warning, "a\u{1B}[31m line")
        let lines = folder.read("log").split(separator: "\n")
        #expect(lines.count == 2 && lines[0] == "talkie \(Release.version) log")
        #expect(lines[1].hasPrefix("[     0.0") && lines[1].hasSuffix("][warning] a\u{FFFD}[31m line."))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    }

    @Test func anOldLogIsReplacedAndAnythingElseIsNot() throws {
        let path = folder.path("log")
        try LogFile(creating: path).write(.info, "first")
        try LogFile(creating: path).write(.info, "second")
        #expect(!folder.read("log").contains("first") && folder.read("log").contains("second"))
        let film = folder.write("a film", to: "film.mkv")
        let failure = #expect(throws: TalkieError.self) { try LogFile(creating: film) }
        #expect(failure?.exitStatus == 2 && folder.read("film.mkv") == "a film")
        #expect(throws: TalkieError.self) { try LogFile(creating: folder.path) }
        #expect(throws: TalkieError.self) { try LogFile(creating: folder.path("no/such")) }
    }

    @Test func aLogIsBounded() throws {
        let log = try LogFile(creating: folder.path("log"), limit: 1 << 16)
        let line = String(repeating: "x", count: 1 << 12)
        for _ in 0..<20 { log.write(.debug, line) }
        let size = folder.read("log").utf8.count
        #expect(size > 60_000 && size <= 1 << 16 + 100 && folder.read("log").hasSuffix("the log is full\n"))
    }
}
