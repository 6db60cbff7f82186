import FuzzSupport
import MediaCore

@testable import TalkieApp

/// The input of a terminal yields the same keys however it is split. Key names are printable, and there are at most as
/// many as bytes. After any input, the next keys are recognised.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTerminalKeys(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    let piece = Int(input.byte()) % 16 + 1
    let bytes = input.remainder()

    var whole = TerminalKeyParser()
    var keys = whole.feed(bytes)
    var cut = TerminalKeyParser()
    var cutKeys: [String] = []
    for start in stride(from: 0, to: bytes.count, by: piece) { cutKeys += cut.feed(bytes[start...].prefix(piece)) }
    precondition(keys == cutKeys && whole.isWaiting == cut.isWaiting, "what is read at once makes no difference")

    var deaf = whole
    keys += whole.flush()
    precondition(!whole.isWaiting && whole.flush().isEmpty, "nothing is held after nothing has followed")
    precondition(keys.count <= bytes.count)
    for key in keys {
        precondition(!key.isEmpty && key.utf8.count <= 32 && PrintableText.of(key) == key)
        if KeyBindings.commands(for: key) == [["quit"]] { precondition(["q", "Q", "Ctrl+w", "Ctrl+c"].contains(key)) }
    }
    precondition(whole.feed([UInt8(ascii: "q")]) == ["q"])
    // An unterminated sequence consumes following bytes up to its maximum length.
    precondition(deaf.feed([UInt8](repeating: UInt8(ascii: "q"), count: 32)).last == "q" && !deaf.isWaiting)
    return 0
}
