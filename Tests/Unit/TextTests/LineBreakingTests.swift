import Testing

@testable import Text

@Suite struct LineBreakingTests {
    /// All characters have the same width.
    private func breaking(_ room: Int) -> LineBreaking { LineBreaking(room: Double(room)) { Double($0.count) } }

    @Test func linesEndBetweenGroupsThenBetweenWordsThenAnywhere() {
        #expect(breaking(16).lines("Enter play here   Esc close") == ["Enter play here", "Esc close"])
        #expect(breaking(16).lines("Enter play here and there") == ["Enter play here", "and there"])
        #expect(
            breaking(16).lines(String(repeating: "m", count: 40))
                == [16, 16, 8].map { String(repeating: "m", count: $0) })
        #expect(breaking(16).lines("a\n\nb") == ["a", "", "b"])
        #expect(breaking(1).lines("") == [""])
    }

    @Test func textAfterTheLastLineIsOmitted() {
        #expect(breaking(3).lines("one two six ten", atMost: 2) == ["one", "two"])
    }

    @Test func aLineThatIsTooLongEndsInAnEllipsis() {
        #expect(breaking(10).shortened("Kitchen") == "Kitchen")
        #expect(breaking(10).shortened("Grandmother’s kitchen") == "Grandmoth…")
        #expect(breaking(1).shortened("Kitchen") == "")
        // A letter and its combining mark are one character.
        #expect(breaking(3).shortened("e\u{301}e\u{301}e\u{301}e\u{301}") == "e\u{301}e\u{301}…")
    }

    @Test func aCharacterWiderThanTheRoomIsALineOfItsOwn() {
        #expect(breaking(0).lines("ab") == ["a", "b"])
    }
}
