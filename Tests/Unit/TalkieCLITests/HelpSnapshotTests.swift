import ArgumentParser
import Foundation
import Testing

@testable import TalkieCLI

/// Help texts are part of the interface. After an intended change, run the tests once with TALKIE_RECORD_SNAPSHOTS=1
/// and review the diff.
@Suite struct HelpSnapshotTests {
    @Test func theHelpTextsAreThoseThatWereReviewed() throws {
        let commands: [any ParsableCommand.Type] = [TalkieCommand.self] + TalkieCommand.configuration.subcommands
        for command in commands {
            let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Snapshots")
            let file = folder.appending(path: "help-\(command._commandName).txt")
            let help = TalkieCommand.helpMessage(for: command, columns: 100) + "\n"
            if ProcessInfo.processInfo.environment["TALKIE_RECORD_SNAPSHOTS"] == "1" {
                try Data(help.utf8).write(to: file)
            }
            #expect(
                help == String(decoding: try Data(contentsOf: file), as: UTF8.self), "help of \(command._commandName)")
        }
    }
}
