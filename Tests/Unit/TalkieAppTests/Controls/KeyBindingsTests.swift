import MediaCore
import Testing

@testable import TalkieApp

@Suite struct KeyBindingsTests {
    @Test func mpvsKeysDoWhatTheyDoThere() {
        let second = MediaTime(value: 1, timescale: 1)
        #expect(KeyBindings.action(for: "SPACE") == .togglePause)
        #expect(KeyBindings.action(for: "RIGHT") == .seek(by: second * 5, exact: false))
        #expect(KeyBindings.action(for: "DOWN") == .seek(by: second * -60, exact: false))
        #expect(KeyBindings.action(for: "Shift+LEFT") == .seek(by: second * -1, exact: true))
        #expect(KeyBindings.action(for: "PGUP") == .seekChapters(1))
        #expect(KeyBindings.action(for: "PGDWN") == .seekChapters(-1))
        #expect(KeyBindings.action(for: ".") == .stepForward)
        #expect(KeyBindings.action(for: ",") == .stepBackward)
        #expect(KeyBindings.action(for: "[") == .multiplySpeed(1 / 1.1))
        #expect(KeyBindings.action(for: "BS") == .resetSpeed)
        #expect(KeyBindings.action(for: "9") == .addVolume(-2))
        #expect(KeyBindings.action(for: "m") == .toggleMute)
        #expect(KeyBindings.action(for: "Ctrl++") == .addAudioDelay(.milliseconds(100)))
        #expect(KeyBindings.action(for: "Ctrl+=") == .addAudioDelay(.milliseconds(100)), "where + needs Shift")
        #expect(KeyBindings.action(for: "i") == .showStatistics && KeyBindings.action(for: "?") == .showKeys)
        #expect(KeyBindings.action(for: "MBTN_LEFT_DBL") == .toggleFullScreen)
        #expect(KeyBindings.action(for: "d") == .cycleDeinterlacing)
        #expect(KeyBindings.action(for: "w") == .changeView(.panscan(-0.1)))
        #expect(KeyBindings.action(for: "W") == .changeView(.panscan(0.1)))
        #expect(KeyBindings.action(for: "A") == .changeView(.nextAspect))
        #expect(KeyBindings.action(for: "Alt+LEFT") == .changeView(.panX(0.1)))
        #expect(KeyBindings.action(for: "Alt+DOWN") == .changeView(.panY(-0.1)))
        #expect(KeyBindings.action(for: "Alt++") == .changeView(.zoom(0.1)))
        #expect(KeyBindings.action(for: "Alt+-") == .changeView(.zoom(-0.1)))
        #expect(KeyBindings.action(for: "Alt+BS") == .changeView(.reset))
        #expect(KeyBindings.action(for: "q") == .quit)
        #expect(KeyBindings.action(for: "S") == .screenshot(.video))
        #expect(KeyBindings.action(for: "Ctrl+s") == .screenshot(.window))
        #expect(KeyBindings.action(for: "Alt+s") == .screenshot(.subtitles))
        #expect(KeyBindings.action(for: "s") == .chooseRoute, "the one that is Talkie's own")
        #expect(KeyBindings.action(for: ">") == .next)
        #expect(KeyBindings.action(for: "F13") == nil && KeyBindings.action(for: "") == nil)
    }

    @Test func holdingAKeyWindsButDoesNotSwitchToAndFro() {
        for (key, action) in KeyBindings.all {
            switch action {
            case .togglePause, .toggleMute, .toggleFullScreen, .quit, .next, .previous, .screenshot, .toggleLoop,
                .cycleAudioTrack, .cycleDeinterlacing, .changeView(.nextAspect), .changeView(.reset):
                #expect(!action.repeats, "\(key)")
            case .seek, .addVolume: #expect(action.repeats, "\(key)")
            default: break
            }
        }
    }

    @Test func thePageOfKeysNamesEveryKeyAndNoOther() {
        let named = KeyHelp.rows.flatMap(\.names)
        #expect(Set(named).count == named.count, "each once")
        // Labelled keys of remote controls and keyboards, and mouse buttons.
        let printed: Set<String> = [
            "PLAY", "PAUSE", "PLAYPAUSE", "PLAYONLY", "PAUSEONLY", "FORWARD", "REWIND", "VOLUME_UP", "VOLUME_DOWN",
            "MUTE", "NEXT", "PREV", "STOP", "POWER", "CLOSE_WIN", "MBTN_RIGHT", "MBTN_FORWARD", "MBTN_BACK",
        ]
        #expect(Set(KeyBindings.all.map(\.key)).subtracting(printed) == Set(named))
    }
}
