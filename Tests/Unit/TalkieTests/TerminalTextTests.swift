import Testing

@testable import MediaCore

@Suite struct TerminalTextTests {
    @Test func aTitleCannotCommandTheTerminal() {
        #expect(PrintableText.of("a\u{1B}]0;x\u{7}b\r\n\u{9B}1A\u{202E}c") == "a�]0;x�b���1A�c")
        #expect(PrintableText.of("Amélie 🎬 愛") == "Amélie 🎬 愛")
    }
}
