internal import Glibc
internal import MediaCore

/// Asks the user on the terminal, independent of standard input and output.
package struct TerminalQuestion: ~Copyable {
    /// The maximum length in bytes; the rest is dropped.
    private static let longestAnswer = 256
    private let descriptor: Int32
    /// Called when the interrupt character was typed, with the terminal's mode restored.
    private let interrupt: @Sendable () -> Void

    /// Opens the terminal. Nil without a controlling terminal.
    package init?() {
        let descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        self.init(descriptor) { raise(SIGINT) }
    }

    /// Uses an open terminal and closes it at the end.
    init(_ descriptor: Int32, interrupt: @escaping @Sendable () -> Void) {
        (self.descriptor, self.interrupt) = (descriptor, interrupt)
    }

    deinit { close(descriptor) }

    private enum Answer { case line(String), end, interrupted }

    /// Blocks until a line was entered. Returns nil at end of input (Ctrl+D).
    ///
    /// - Parameter isSecret: Whether echo is disabled.
    package borrowing func ask(_ question: String, isSecret: Bool = false) -> String? {
        var shown = termios()
        let hides = isSecret && tcgetattr(descriptor, &shown) == 0
        if hides {
            var hidden = shown
            // Without ISIG, Ctrl+C is a character: the signal would end the program with echo disabled.
            hidden.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
            // VMIN and VTIME (termios(3)): a read returns with one character.
            (hidden.c_cc.6, hidden.c_cc.5) = (1, 0)
            // TCSAFLUSH discards input typed before the question.
            tcsetattr(descriptor, TCSAFLUSH, &hidden)
        }
        let answer = write(question) ? read(editing: hides ? shown : nil) : .end
        if hides {
            tcsetattr(descriptor, TCSAFLUSH, &shown)
            _ = write("\n")
        }
        switch answer {
        case .line(let line): return line
        case .end: return nil
        case .interrupted:
            interrupt()
            return nil
        }
    }

    private borrowing func write(_ text: String) -> Bool {
        CompleteWrite.write(Array((text == "\n" ? text : PrintableText.of(text)).utf8), to: descriptor) == nil
    }

    /// Reads a line.
    ///
    /// - Parameter mode: The mode whose special characters are to be obeyed; nil if the terminal obeys them.
    private borrowing func read(editing mode: termios?) -> Answer {
        let keys = mode?.c_cc
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = Glibc.read(descriptor, &byte, 1)
            if count < 0 && errno == EINTR { continue }
            guard count == 1 else { return .end }
            if byte == UInt8(ascii: "\n") { return .line(String(decoding: line, as: UTF8.self)) }
            // VINTR, VQUIT, VERASE, VKILL and VEOF, in this order (termios(3)).
            if let keys, byte == keys.0 || byte == keys.1 { return .interrupted }
            if let keys, byte == keys.2 {
                // A character of UTF-8: its continuation bytes and the first one.
                while let last = line.popLast(), last & 0xC0 == 0x80 {}
            } else if let keys, byte == keys.3 {
                line.removeAll()
            } else if let keys, byte == keys.4 {
                if line.isEmpty { return .end }
            } else if line.count < Self.longestAnswer {
                line.append(byte)
            }
        }
    }
}
