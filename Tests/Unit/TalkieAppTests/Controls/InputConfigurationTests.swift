import MediaCore
import Playback
import Testing

@testable import TalkieApp

@Suite struct InputConfigurationTests {
    private let second = MediaTime(value: 1, timescale: 1)

    private func input(_ lines: String...) -> InputConfiguration {
        InputConfiguration(Array(lines.joined(separator: "\n").utf8), file: "input.conf")
    }

    private func action(_ command: String) throws -> PlayerAction? {
        let input = input("a \(command)")
        #expect(input.mistakes.isEmpty, "\(command)")
        return input.keys.actions(for: "a").first
    }

    @Test func aKeyDoesWhatIsWrittenAndOthersWhatTheyDid() {
        let input = input("# my keys", "", "RIGHT seek 10", "q ignore # not by mistake", "ctrl+x quit")
        #expect(input.mistakes.isEmpty)
        #expect(input.keys.actions(for: "RIGHT") == [.seek(by: second * 10, exact: false)])
        #expect(input.keys.actions(for: "q").isEmpty)
        #expect(input.keys.actions(for: "Ctrl+x") == [.quit])
        #expect(input.keys.actions(for: "LEFT") == [.seek(by: second * -5, exact: false)])
        #expect(input.keys.actions(for: "F11").isEmpty)
        #expect(KeyMap().actions(for: "q") == [.quit])
    }

    @Test func mpvsCommandsAreUnderstood() throws {
        #expect(try action("seek -60 exact") == .seek(by: second * -60, exact: true))
        #expect(try action("no-osd seek 1 relative+exact") == .seek(by: second, exact: true))
        #expect(try action("seek 1:30 absolute") == .seekTo(.fromStart(second * 90), exact: true))
        #expect(try action("seek 50 absolute-percent") == .seekTo(.fraction(0.5), exact: false))
        #expect(try action("cycle pause") == .togglePause)
        #expect(try action("cycle audio") == .cycleAudioTrack)
        #expect(try action("cycle sub") == .cycleSubtitles(1))
        #expect(try action("cycle sub down") == .cycleSubtitles(-1))
        #expect(try action("cycle secondary-sid") == .cycleSecondarySubtitles(1))
        #expect(try action("cycle secondary-sid down") == .cycleSecondarySubtitles(-1))
        #expect(try action("cycle secondary-sub-visibility") == .toggleSecondarySubtitles)
        #expect(try action("screenshot") == .screenshot(.subtitles))
        #expect(try action("screenshot window") == .screenshot(.window))
        #expect(try action("add sub-delay -0.1") == .addSubtitleDelay(.milliseconds(-100)))
        #expect(try action("add video-zoom 0.1") == .changeView(.zoom(0.1)))
        #expect(try action("cycle-values loop-file \"inf\" \"no\"") == .toggleLoop)
        #expect(try action("set pause yes") == .setPaused(true))
        #expect(try action("set speed 1.0") == .resetSpeed)
        #expect(try action("set speed 1.5") == .setSpeed(1.5))
        #expect(try action("set volume 40") == .setVolume(40))
        #expect(try action("set fullscreen no") == .leaveFullScreen)
        #expect(try action("add volume -2") == .addVolume(-2))
        #expect(try action("add audio-delay 0.1") == .addAudioDelay(.milliseconds(100)))
        #expect(try action("add chapter -1") == .seekChapters(-1))
        #expect(try action("multiply speed 1.1") == .multiplySpeed(1.1))
        #expect(try action("frame-back-step") == .stepBackward)
        #expect(try action("playlist-next force") == .next)
        #expect(try action("show-text \"Hello, \\\"you\\\"\"") == .showText("Hello, \"you\""))
        #expect(try action("choose-route") == .chooseRoute)
    }

    @Test func commandsFollowOneAnotherBehindASemicolon() {
        let input = input("x set pause yes; seek 0 absolute ;show-text \"a; b\"")
        #expect(
            input.keys.actions(for: "x")
                == [.setPaused(true), .seekTo(.fromStart(.zero), exact: true), .showText("a; b")])
    }

    @Test func keysAreNamedInAnyCaseAndOrder() {
        let input = input(
            "alt+CTRL+right quit", "Shift+a quit", "# quit", "SHARP show-progress", "mbtn_left cycle pause",
            "+ add volume 2",
            "Ctrl++ ignore", "axis_up seek 1")
        #expect(input.mistakes.isEmpty)
        #expect(input.keys.actions(for: "Ctrl+Alt+RIGHT") == [.quit])
        #expect(input.keys.actions(for: "A") == [.quit])
        #expect(input.keys.actions(for: "SHARP") == [.showProgress])
        #expect(input.keys.actions(for: "MBTN_LEFT") == [.togglePause])
        #expect(input.keys.actions(for: "+") == [.addVolume(2)])
        #expect(input.keys.actions(for: "Ctrl++").isEmpty)
        #expect(input.keys.actions(for: "WHEEL_UP") == [.seek(by: second, exact: false)])
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
        #expect(input.keys.actions(for: "q") == [.quit] && input.keys.actions(for: "w") == [.quit])
    }

    @Test func aFileThatIsSomethingElseIsBounded() {
        let input = InputConfiguration(Array(String(repeating: "a quit\n", count: 9000).utf8), file: "f")
        #expect(input.mistakes.map(\.line) == [InputConfiguration.maxBindings + 1])
    }
}
