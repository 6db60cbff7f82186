import Playback
import Testing

@testable import TalkieApp

@Suite struct KeyBindingsTests {
    @Test func everyKeyHasCommandsOfTheTable() throws {
        for key in KeyBindings.keys {
            let commands = KeyBindings.commands(for: key)
            #expect(!commands.isEmpty, "\(key)")
            for words in commands { _ = try ControlTable.unbound.request(words) }
        }
        #expect(KeyBindings.commands(for: "F13").isEmpty && KeyBindings.commands(for: "").isEmpty)
        #expect(KeyBindings.commands(for: "SPACE") == [["cycle", "pause"]])
        #expect(KeyBindings.commands(for: "s") == [["choose-route"]], "the one that is Talkie's own")
        #expect(KeyBindings.commands(for: "Ctrl+=") == KeyBindings.commands(for: "Ctrl++"), "where + needs Shift")
    }

    @Test func holdingAKeyWindsButDoesNotSwitchToAndFro() throws {
        for (key, repeats) in [
            ("SPACE", false), ("m", false), ("f", false), ("q", false), (">", false), ("S", false), ("L", false),
            ("SHARP", false), ("d", false), ("A", false), ("Alt+BS", false), ("RIGHT", true), ("9", true), ("]", true),
            (".", true), ("Alt++", true), ("z", true),
        ] {
            for words in KeyBindings.commands(for: key) {
                #expect(try ControlTable.unbound.request(words).command.isRepeatable == repeats, "\(key)")
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
        #expect(Set(KeyBindings.keys).subtracting(printed) == Set(named))
    }
}
