import Testing

@testable import TalkieApp

@Suite struct TerminalKeyParserTests {
    private func keys(_ text: String) -> [String] {
        var parser = TerminalKeyParser()
        let keys = parser.feed(Array(text.utf8))
        return keys + parser.flush()
    }

    @Test(arguments: [
        ("q", ["q"]), (" ", ["SPACE"]), ("#", ["SHARP"]), ("\r", ["ENTER"]), ("\u{7F}", ["BS"]), ("\t", ["TAB"]),
        ("\u{13}", ["Ctrl+s"]), ("é", ["é"]), ("[]9", ["[", "]", "9"]),
        ("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D", ["UP", "DOWN", "RIGHT", "LEFT"]), ("\u{1B}OC", ["RIGHT"]),
        ("\u{1B}[1;2C", ["Shift+RIGHT"]), ("\u{1B}[1;6D", ["Shift+Ctrl+LEFT"]), ("\u{1B}[5;2~", ["Shift+PGUP"]),
        ("\u{1B}[3~", ["DEL"]), ("\u{1B}OP", ["F1"]), ("\u{1B}[24~", ["F12"]), ("\u{1B}", ["ESC"]),
        ("\u{1B}x", ["Alt+x"]),
        ("\u{1B}[", ["Alt+["]),
    ])
    func keysAreNamedAsMpvNamesThem(text: String, expected: [String]) {
        #expect(keys(text) == expected)
    }

    @Test func controlsAndDirectionMarksOfSeveralBytesAreNoKeys() {
        #expect(keys("\u{9B}\u{85}\u{202E}\u{2028}q") == ["q"])
        #expect(keys("\u{1B}\u{9B}q") == ["q"])
    }

    @Test func aSequenceMayArriveInPieces() {
        var parser = TerminalKeyParser()
        #expect(parser.feed([0x1B]) == [])
        #expect(parser.isWaiting)
        #expect(parser.feed([UInt8(ascii: "[")]) == [])
        #expect(parser.feed([UInt8(ascii: "C"), UInt8(ascii: "q")]) == ["RIGHT", "q"])
        #expect(!parser.isWaiting)
    }

    @Test func unknownSequencesAreConsumedEntirely() {
        #expect(keys("\u{1B}[200~q") == ["q"])
        #expect(keys("\u{1B}[1;2;3;4Zq") == ["q"])
        #expect(keys("\u{1B}[<0;1;2Mq").last == "q")
        #expect(keys("\u{1B}[[Aq") == ["q"])
        #expect(keys("\u{0}\u{1C}q") == ["q"])
        var parser = TerminalKeyParser()
        #expect(parser.feed([0xFF, 0x80, 0xC3, 0x28, UInt8(ascii: "q")]) == ["q"])
        #expect(
            parser.feed([0x1B, UInt8(ascii: "[")] + [UInt8](repeating: UInt8(ascii: "1"), count: 100_000)).count
                < 100_000)
        #expect(keys("\u{1B}[1;-9223372036854775808C") == ["RIGHT"])
    }
}
