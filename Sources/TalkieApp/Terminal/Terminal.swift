internal import CShim
internal import Glibc
internal import MediaCore

/// Where a person reads what the program says: lines that stay, and below them one status line that is written over.
///
/// Any thread. A terminal that was halted (Ctrl+S) blocks the writer, so real-time threads never write.
package final class Terminal: Sendable {
    private let descriptor: Int32
    /// Whether a status line makes sense here: somebody looks, and the cursor can be moved.
    package let showsStatus: Bool
    private let state = Lock((status: "", isShown: false))

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
            guard state.isShown else { return write(text + "\n") }
            write(Self.clear + text + "\n" + PrintableText.truncated(state.status, to: columns - 1))
        }
    }

    /// Replaces the status line; nil takes it away. Nothing happens when it is as it was.
    package func show(status: String?) {
        guard showsStatus else { return }
        let text = PrintableText.of(status ?? "")
        state.withLock { state in
            guard text != state.status else { return }
            // The last column stays free: writing there wraps on some terminals.
            write(Self.clear + PrintableText.truncated(text, to: columns - 1))
            state = (text, !text.isEmpty)
        }
    }

    /// Leaves the status line where it is and goes to the next one; what follows stands below.
    package func leaveStatus() {
        state.withLock { state in
            if state.isShown { write("\n") }
            state = ("", false)
        }
    }

    /// Carriage return, then erase to the end of the line (ECMA-48, EL).
    private static let clear = "\r\u{1B}[K"

    private func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return
            }
        }
    }
}
