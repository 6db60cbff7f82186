import MediaCore
import Storage
import TalkieTestKit
import Testing

@testable import TalkieApp

@Suite struct ConfigTextTests {
    private func text(_ lines: String...) -> ConfigText {
        ConfigText(Array(lines.joined(separator: "\n").utf8), file: "talkie.conf")
    }

    private func settings(_ lines: String...) -> [String] {
        let text = ConfigText(Array(lines.joined(separator: "\n").utf8), file: "talkie.conf")
        #expect(text.mistakes.isEmpty)
        return text.settings.map { $0.name + ($0.value.map { "=" + $0 } ?? "") }
    }

    @Test func aSettingIsWrittenAsMpvWritesIt() {
        #expect(
            settings(
                "# a comment", "", "fs", "  volume = 50  # behind it", "--speed=1.5", "speaker=Living room",
                "speaker=\"Kitchen # 2\" # quoted", "alang='de,en'", "title=%5%a#b\"c", "end=")
                == [
                    "fs", "volume=50", "speed=1.5", "speaker=Living room", "speaker=Kitchen # 2", "alang=de,en",
                    "title=a#b\"c", "end=",
                ])
    }

    @Test func linesEndAsOnAnySystemAndAMarkBeforeTheFirstIsNothing() {
        let text = ConfigText([0xEF, 0xBB, 0xBF] + Array("fs\r\nmute\r\n".utf8), file: "talkie.conf")
        #expect(text.settings.map(\.name) == ["fs", "mute"] && text.mistakes.isEmpty)
    }

    @Test func profilesHoldTheirSettingsAndThoseOfDefaultAlwaysApply() {
        let text = text(
            "fs", "[night]", "profile-desc=\"Quiet, late\"", "volume=30", "[cinema] # here", "start=10", "[night]",
            "mute", "[default]", "pause")
        #expect(text.mistakes.isEmpty && text.settings.map(\.name) == ["fs", "pause"])
        #expect(text.profiles.map(\.name) == ["night", "cinema"])
        #expect(text[profile: "night"]?.description == "Quiet, late")
        #expect(text[profile: "night"]?.settings.map(\.name) == ["volume", "mute"])
        #expect(text[profile: "day"] == nil)
    }

    @Test func everyMistakeIsReportedWithItsLineAndSkipsOnlyThat() {
        let text = text("fs=\"yes", "really quiet", "=5", "[open", "[a] b", "mute", "volume=%9%5", "[]")
        #expect(text.settings.map(\.name) == ["mute"] && text.profiles.isEmpty)
        #expect(text.mistakes.map(\.line) == [1, 2, 3, 4, 5, 7, 8])
        let messages = ConfigMistake.messages(for: text.mistakes)
        #expect(messages[0] == "talkie.conf line 1: unterminated quote")
        #expect(messages[1] == "talkie.conf line 2: 'quiet' follows the option; write name=value")
    }

    @Test func aFileThatIsSomethingElseIsBounded() {
        let many = ConfigText(Array(String(repeating: "a\n", count: 30_000).utf8), file: "f")
        #expect(many.settings.count == ConfigText.maxSettings && many.mistakes.count == 1)
        let wrong = ConfigText(
            [UInt8](repeating: 0xFF, count: 100) + [10] + [UInt8](repeating: 10, count: 100), file: "f")
        #expect(wrong.mistakes.count == 1)
        let messages = ConfigMistake.messages(for: (1...1000).map { ConfigMistake("f", line: $0, "no") })
        #expect(messages.count == ConfigMistake.maxReported + 1 && messages.last == "950 more mistakes there")
    }

    @Test func theFolderIsReadBoundedAndSaysWhoMayReadIt() throws {
        let folder = TemporaryFolder()
        let config = ConfigFolder(path: folder.path)
        #expect(try config.read("talkie.conf") == nil)
        folder.write("", to: "talkie.conf")
        #expect(try config.read("talkie.conf")?.bytes == [])
        folder.write("fs", to: "input.conf")
        #expect(try config.read("input.conf")?.bytes == Array("fs".utf8))
        folder.write(String(repeating: "#", count: ConfigFolder.largestFile + 1), to: "large")
        #expect(throws: TalkieError.self) { try config.read("large") }
        #expect(throws: TalkieError.self) { try ConfigFolder(path: "/").read("tmp") }
    }

    @Test func pieceworkOfWordsAndMarksIsReadWithoutHarm() {
        let pieces =
            [
                "fs", "=", "\"", "'", "%", "5", "#", "[", "]", " ", "\n", "\r", ";", "seek", "q ", "ctrl", "+", "é",
                "\u{FEFF}", "\\", "-", "\0",
                "profile",
            ].map { Array($0.utf8) } + [[0xFF], [0xC3]]
        var number: UInt64 = 1
        func next(_ count: Int) -> Int {
            number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(number >> 33) % count
        }
        for _ in 0..<5000 {
            let bytes = (0..<next(40)).flatMap { _ in pieces[next(pieces.count)] }
            let lines = bytes.count { $0 == 0x0A } + 1
            let text = ConfigText(bytes, file: "f")
            let keys = InputConfiguration(bytes, file: "f")
            #expect((text.mistakes + keys.mistakes).allSatisfy { (1...lines).contains($0.line) })
            #expect(text.settings.allSatisfy { !$0.name.isEmpty })
        }
    }
}
