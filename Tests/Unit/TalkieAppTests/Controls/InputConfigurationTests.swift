import MediaCore
import Testing

@testable import TalkieApp

@Suite struct InputConfigurationTests {
    private func input(_ lines: String...) -> InputConfiguration {
        InputConfiguration(Array(lines.joined(separator: "\n").utf8), file: "input.conf")
    }

    @Test func aKeyDoesWhatIsWrittenAndOthersWhatTheyDid() {
        let input = input("# my keys", "", "RIGHT seek 10", "q ignore # not by mistake", "ctrl+x quit")
        #expect(input.mistakes.isEmpty)
        #expect(input.keys.commands(for: "RIGHT") == [["seek", "10"]])
        #expect(input.keys.commands(for: "q").isEmpty)
        #expect(input.keys.commands(for: "Ctrl+x") == [["quit"]])
        #expect(input.keys.commands(for: "LEFT") == [["seek", "-5"]])
        #expect(input.keys.commands(for: "F11").isEmpty)
        #expect(KeyMap().commands(for: "q") == [["quit"]])
    }

    @Test(arguments: [
        "seek -60 exact", "no-osd seek 1 relative+exact", "seek 1:30 absolute", "seek 50 absolute-percent",
        "seek 5 relative exact", "cycle pause", "cycle audio", "cycle sub", "cycle sub down", "cycle secondary-sid",
        "cycle secondary-sid down", "cycle secondary-sub-visibility", "screenshot", "screenshot window",
        "add sub-delay -0.1", "add video-zoom 0.1", "cycle-values loop-file \"inf\" \"no\"", "set pause yes",
        "set speed 1.0", "set speed 1.5", "set volume 40", "set fullscreen no", "add volume -2", "add audio-delay 0.1",
        "add chapter -1", "multiply speed 1.1", "multiply speed 1/1.1", "frame-back-step", "playlist-next force",
        "show-text \"Hello, \\\"you\\\"\"", "choose-route", "loadfile film.mkv append", "playlist-shuffle", "quit 0",
        "cycle-values video-aspect-override 16:9 4:3 -1",
    ])
    func mpvsCommandsAreUnderstood(command: String) throws {
        let input = input("a \(command)")
        #expect(input.mistakes.isEmpty, "\(input.mistakes)")
        #expect(input.keys.commands(for: "a").count == 1)
    }

    @Test func wordsAreQuoted() {
        let input = input("a show-text \"Hello, \\\"you\\\"\"")
        #expect(input.keys.commands(for: "a") == [["show-text", "Hello, \"you\""]])
    }

    @Test func commandsFollowOneAnotherBehindASemicolon() {
        let input = input("x set pause yes; seek 0 absolute ;show-text \"a; b\"", "y show-text a;b; quit")
        #expect(
            input.keys.commands(for: "x")
                == [["set", "pause", "yes"], ["seek", "0", "absolute"], ["show-text", "a; b"]])
        #expect(input.keys.commands(for: "y") == [["show-text", "a;b"], ["quit"]])
    }

    @Test func keysAreNamedInAnyCaseAndOrder() {
        let input = input(
            "alt+CTRL+right quit", "Shift+a quit", "# quit", "SHARP show-progress", "mbtn_left cycle pause",
            "+ add volume 2",
            "Ctrl++ ignore", "axis_up seek 1")
        #expect(input.mistakes.isEmpty)
        #expect(input.keys.commands(for: "Ctrl+Alt+RIGHT") == [["quit"]])
        #expect(input.keys.commands(for: "A") == [["quit"]])
        #expect(input.keys.commands(for: "SHARP") == [["show-progress"]])
        #expect(input.keys.commands(for: "MBTN_LEFT") == [["cycle", "pause"]])
        #expect(input.keys.commands(for: "+") == [["add", "volume", "2"]])
        #expect(input.keys.commands(for: "Ctrl++").isEmpty)
        #expect(input.keys.commands(for: "WHEEL_UP") == [["seek", "1"]])
    }

    @Test(arguments: [
        "q", "q script-binding x", "FOO quit", "g-r quit", "q seek", "q seek soon", "q seek 5 sideways",
        "q cycle window",
        "q set speed 9", "q set pause maybe", "q add volume loud", "q multiply speed 0", "q quit 3",
        "q show-text ${filename}", "q show-text \"open", "q seek 5; fly", "q frame-step 3",
    ])
    func aMistakeIsReportedWithItsLineAndTheKeyUnchanged(line: String) {
        let input = input("# one", line, "w quit")
        #expect(input.mistakes.map(\.line) == [2])
        #expect(input.keys.commands(for: "q") == [["quit"]] && input.keys.commands(for: "w") == [["quit"]])
    }

    @Test func aFileThatIsSomethingElseIsBounded() {
        let input = InputConfiguration(Array(String(repeating: "a quit\n", count: 9000).utf8), file: "f")
        #expect(input.mistakes.map(\.line) == [InputConfiguration.maxBindings + 1])
    }
}
