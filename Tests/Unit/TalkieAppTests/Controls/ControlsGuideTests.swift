import Foundation
import Playback
import Testing

@testable import TalkieApp

/// docs/guides/controls.md lists every command and property of a session as the table has it.
@Suite struct ControlsGuideTests {
    private func rows(of heading: String) throws -> [String] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..")
        let text = try String(contentsOf: folder.appending(path: "docs/guides/controls.md"), encoding: .utf8)
        let lines = text.split(separator: "\n").map(String.init)
        let start = try #require(lines.firstIndex(of: "## \(heading)"))
        // After the two lines of the table's head.
        return Array(lines[(start + 3)...].prefix { $0.hasPrefix("|") })
    }

    @Test func theGuideListsTheProperties() throws {
        let expected = ControlTable.unbound.properties.values.sorted { $0.name < $1.name }.map { property in
            let values =
                switch property.type {
                case .text: "text"
                case .node: "list"
                default: property.type.expected
                }
            return "| `\(property.name)` | \(values)\(property.isWritable ? "" : ", read only") | \(property.summary) |"
        }
        let rows = try rows(of: "Properties")
        #expect(Set(expected).subtracting(rows) == [], "missing in the guide")
        #expect(Set(rows).subtracting(expected) == [], "not in the table")
    }

    @Test func theGuideListsTheCommands() throws {
        let expected = ControlTable.unbound.commands.values.map { command in
            "| `\(([command.name] + usage(command.parameters)).joined(separator: " "))` | \(command.summary) |"
        }
        let rows = try rows(of: "Commands")
        #expect(Set(expected).subtracting(rows) == [], "missing in the guide")
        #expect(Set(rows).subtracting(expected) == [], "not in the table")
    }

    private func usage(_ parameters: [ControlCommand.Parameter]) -> [String] {
        var usage: [String] = []
        for parameter in parameters {
            var words = parameter.name
            if case .choice(let choices, or: nil) = parameter.type { words = choices.joined(separator: "\\|") }
            if parameter.isOptional { words = "[\(words)]" }
            if usage.contains("[\(parameter.name)]") { continue }
            if usage.contains(parameter.name) { words = "[\(parameter.name) …]" }
            if usage.last != words { usage.append(words) }
        }
        return usage
    }
}
