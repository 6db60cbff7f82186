import Foundation
import Testing

@testable import TalkieCLI

@Suite struct ReportCommandTests {
    private func complaint(_ files: [String: String], _ words: String...) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("report-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)")) }
        let outcome = CommandLineRunner.outcome(
            of: ["report"] + words.map { files[$0] == nil ? $0 : "\(folder)/\($0)" })
        #expect(outcome.status == 66)
        return outcome.complaint.replacing("\(folder)/", with: "")
    }

    @Test func whatIsNoTimelineSaysHowToRecordOne() throws {
        #expect(
            try complaint(["t": "{}\n"], "t")
                == "talkie: 't' is not a timeline; record one with talkie play FILM --timeline FILE.\n")
        #expect(
            try complaint(["t": "{}\n", "r": "{}\n"], "t", "--speaker-record", "r")
                == "talkie: 'r' contains no audio; record it with talkie speaker --record FILE; check its name.\n")
    }

    @Test func aTimelineOfANewerTalkieIsReportedAsNewer() throws {
        let head = #"{"event":"timeline","host_ns":1,"version":2,"program":"talkie 9"}"# + "\n"
        #expect(
            try complaint(["t": head], "t")
                == "talkie: the timeline 't' was written by a newer Talkie (version 2); update this one.\n")
    }
}
