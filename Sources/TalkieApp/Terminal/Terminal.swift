internal import CShim
internal import Glibc
internal import MediaCore

/// Writes messages to the terminal: permanent lines, and a status line below that is overwritten.
///
/// Callable from any thread. If the terminal is not read (stopped, or a full pipe), lines are dropped and counted. The
/// first dropped line blocks its caller for `timeout`.
package final class Terminal: Sendable {
    private let descriptor: Int32
    /// Whether a status line is possible: output is an interactive terminal with cursor movement.
    let showsStatus: Bool
    /// Guarded by the lock `state`.
    private struct State {
        var status = ""
        var isShown = false
        /// The number of lines dropped since the last one written.
        var dropped = 0
    }
    private let state = Lock(State())
    private static let timeout = Duration.milliseconds(100)

    /// Creates a terminal.
    ///
    /// - Parameters:
    ///   - descriptor: The output; standard error, to keep results on standard output clean.
    ///   - showsStatus: Nil: true if both standard streams are terminals and not dumb.
    init(descriptor: Int32 = 2, showsStatus: Bool? = nil) {
        self.descriptor = descriptor
        self.showsStatus = showsStatus ?? Self.canShowStatus
    }

    private static var canShowStatus: Bool {
        guard isatty(1) == 1, isatty(2) == 1, let kind = getenv("TERM") else { return false }
        return strcmp(kind, "dumb") != 0 && kind.pointee != 0
    }

    /// The width of the terminal in columns; 80 if unknown.
    var columns: Int {
        let columns = Int(cshim_terminal_columns(descriptor))
        return columns > 0 ? columns : 80
    }

    /// Writes a permanent line.
    func say(_ line: String) {
        state.withLock { state in
            let text = PrintableText.of(line)
            guard state.isShown else { return write(text + "\n", &state) }
            write(Self.clear + text + "\n" + PrintableText.truncated(state.status, to: columns - 1), &state)
        }
    }

    /// Writes permanent lines in black on white, whatever the colours of the terminal are (ECMA-48, SGR).
    func say(blackOnWhite lines: [String]) {
        state.withLock { state in
            let text = lines.map { "\u{1B}[30;47m\(PrintableText.of($0))\u{1B}[0m\n" }.joined()
            write(
                state.isShown ? Self.clear + text + PrintableText.truncated(state.status, to: columns - 1) : text,
                &state)
        }
    }

    /// Replaces the status line if it has changed; nil removes it.
    func show(status: String?) {
        guard showsStatus else { return }
        let text = PrintableText.of(status ?? "")
        state.withLock { state in
            guard text != state.status else { return }
            // The last column is unused: writing to it wraps on some terminals.
            write(Self.clear + PrintableText.truncated(text, to: columns - 1), &state)
            (state.status, state.isShown) = (text, !text.isEmpty)
        }
    }

    /// Leaves the status line on the screen and moves to the next line.
    func leaveStatus() {
        state.withLock { state in
            if state.isShown { write("\n", &state) }
            (state.status, state.isShown) = ("", false)
        }
    }

    /// Carriage return, then erase to the end of the line (ECMA-48, EL).
    private static let clear = "\r\u{1B}[K"

    private func write(_ text: String, _ state: inout State) {
        var output = text
        if state.dropped > 0 {
            output = "\ntalkie: \(state.dropped) lines were dropped because they were not read in time.\n" + text
        }
        let bytes = Array(output.utf8)
        // After a timeout later writes do not block until one succeeds.
        let written = TimedWrite.write(bytes, to: descriptor, timeout: state.dropped > 0 ? .zero : Self.timeout)
        state.dropped = written == bytes.count ? 0 : state.dropped + 1
    }
}
