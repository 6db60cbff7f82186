internal import CShim
internal import Glibc
internal import MediaCore

/// Where a person reads what the program says: lines that stay, and below them one status line that is written over.
///
/// Any thread. Where nothing is read (a halted terminal, a full pipe), lines are dropped and counted; the first of them costs its
/// caller `timeout`.
package final class Terminal: Sendable {
    private let descriptor: Int32
    /// Whether a status line makes sense here: somebody looks, and the cursor can be moved.
    package let showsStatus: Bool
    private struct State {
        var status = ""
        var isShown = false
        /// Lines that were dropped since the last one that was written.
        var dropped = 0
    }
    private let state = Lock(State())
    private static let timeout = Duration.milliseconds(100)

    /// - Parameters:
    ///   - descriptor: where everything goes; standard error, so that results on standard output stay clean.
    ///   - showsStatus: nil finds out: both standard streams are terminals and not dumb ones.
    package init(descriptor: Int32 = 2, showsStatus: Bool? = nil) {
        self.descriptor = descriptor
        self.showsStatus = showsStatus ?? Self.canShowStatus
    }

    private static var canShowStatus: Bool {
        guard isatty(1) == 1, isatty(2) == 1, let kind = getenv("TERM") else { return false }
        return strcmp(kind, "dumb") != 0 && kind.pointee != 0
    }

    /// Columns of the terminal; 80 when it does not say.
    package var columns: Int {
        let columns = Int(cshim_terminal_columns(descriptor))
        return columns > 0 ? columns : 80
    }

    /// Writes a line that stays.
    package func say(_ line: String) {
        state.withLock { state in
            let text = PrintableText.of(line)
            guard state.isShown else { return write(text + "\n", &state) }
            write(Self.clear + text + "\n" + PrintableText.truncated(state.status, to: columns - 1), &state)
        }
    }

    /// Replaces the status line; nil takes it away. Nothing happens when it is as it was.
    package func show(status: String?) {
        guard showsStatus else { return }
        let text = PrintableText.of(status ?? "")
        state.withLock { state in
            guard text != state.status else { return }
            // The last column stays free: writing there wraps on some terminals.
            write(Self.clear + PrintableText.truncated(text, to: columns - 1), &state)
            (state.status, state.isShown) = (text, !text.isEmpty)
        }
    }

    /// Leaves the status line where it is and goes to the next one; what follows stands below.
    package func leaveStatus() {
        state.withLock { state in
            if state.isShown { write("\n", &state) }
            (state.status, state.isShown) = ("", false)
        }
    }

    /// Carriage return, then erase to the end of the line (ECMA-48, EL).
    private static let clear = "\r\u{1B}[K"

    private func write(_ text: String, _ state: inout State) {
        var whole = text
        if state.dropped > 0 {
            whole = "\ntalkie: \(state.dropped) lines are missing here, because they were not read in time.\n" + text
        }
        let bytes = Array(whole.utf8)
        // After one timeout nothing waits until something was read.
        let written = TimedWrite.write(bytes, to: descriptor, timeout: state.dropped > 0 ? .zero : Self.timeout)
        state.dropped = written == bytes.count ? 0 : state.dropped + 1
    }
}
