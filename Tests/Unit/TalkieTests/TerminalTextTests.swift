import Testing

@testable import Talkie

@Suite struct TerminalTextTests {
    @Test func aTitleCannotCommandTheTerminal() {
        #expect(TerminalText.printable("a\u{1B}]0;x\u{7}b\r\n\u{9B}1A\u{202E}c") == "a�]0;x�b���1A�c")
        #expect(TerminalText.printable("Amélie 🎬 愛") == "Amélie 🎬 愛")
    }
}
