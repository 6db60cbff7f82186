internal import Glibc
internal import MediaCore

/// Asks the user on the terminal, independent of standard input and output.
package struct TerminalQuestion: ~Copyable {
    /// The maximum length in bytes; the rest is dropped.
    private static let longestAnswer = 256
    private let descriptor: Int32

    /// Opens the terminal. Nil without a controlling terminal.
    package init?() {
        descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Blocks until a line was entered. Returns nil at end of input (Ctrl+D).
    ///
    /// - Parameter isSecret: Whether echo is disabled.
    package borrowing func ask(_ question: String, isSecret: Bool = false) -> String? {
        var shown = termios()
        let hides = isSecret && tcgetattr(descriptor, &shown) == 0
        if hides {
            var hidden = shown
            hidden.c_lflag &= ~tcflag_t(ECHO)
            // TCSAFLUSH discards input typed before the question.
            tcsetattr(descriptor, TCSAFLUSH, &hidden)
        }
        defer {
            if hides {
                tcsetattr(descriptor, TCSAFLUSH, &shown)
                var lineBreak = UInt8(ascii: "\n")
                _ = write(descriptor, &lineBreak, 1)
            }
        }
        var rest = Array(PrintableText.of(question).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return nil }
        }
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(descriptor, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            guard count == 1 else { return nil }
            if byte == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            if line.count < Self.longestAnswer { line.append(byte) }
        }
    }
}
