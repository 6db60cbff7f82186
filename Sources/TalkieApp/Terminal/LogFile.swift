internal import Glibc
internal import MediaCore

/// What a session says, of every level and with the time since its beginning, in a file for its owner alone. Any thread; a line is
/// written at once.
///
///     talkie 0.1.0 log
///     [    12.345][warning] 'Kitchen' has fallen silent.
final class LogFile: Sendable {
    /// More than an evening says; then the log ends with a line that says so.
    static let mostBytes = 16 << 20

    private let start = HostInstant.now
    /// The descriptor, or -1; and how much was written.
    private let state: Lock<(descriptor: Int32, bytes: Int)>

    /// - Throws: status 2 when that would destroy a file that is no log, 1 when it cannot be written.
    init(creating path: String) throws(TalkieError) {
        if Self.isSomethingElse(path) {
            throw TalkieError(
                .invalidArgument, "--log-file would write over '\(path)', which is no log of Talkie; name another file")
        }
        // A pipe that nobody reads holds nobody up.
        let descriptor = PrivateFile.create(path, O_WRONLY | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw TalkieError(
                .failed, "the log '\(path)' cannot be written (\(SystemCause.text(errno))); name another file")
        }
        state = Lock((descriptor, 0))
        put(Self.head + "\(Release.version) log\n")
    }

    deinit { state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } } }

    func write(_ level: LogLevel, _ text: String) {
        let time = Decimals.text((HostInstant.now - start).inSeconds, 3)
        let column = String(repeating: " ", count: max(0, 10 - time.utf8.count)) + time
        put("[\(column)][\(level)] \(PrintableText.sentence(text))\n")
    }

    private static let head = "talkie "

    /// Whether something lies there that is no log, and no device or pipe.
    private static func isSomethingElse(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return false }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return true }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        let line = bytes.prefix(max(0, count)).prefix { $0 != 0x0A }
        return !(line.starts(with: head.utf8) && line.suffix(4).elementsEqual(" log".utf8))
    }

    private func put(_ line: String) {
        state.withLock { state in
            guard state.descriptor >= 0 else { return }
            var bytes = Array(line.utf8)
            let isFull = state.bytes + bytes.count > Self.mostBytes
            if isFull { bytes = Array("the log is full\n".utf8) }
            state.bytes += bytes.count
            var offset = 0
            while offset < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Glibc.write(state.descriptor, $0.baseAddress! + offset, $0.count - offset)
                }
                if count < 0 && errno == EINTR { continue }
                // A full disk, or a reader that is gone: the film matters more.
                guard count > 0 else { break }
                offset += count
            }
            guard isFull || offset < bytes.count else { return }
            close(state.descriptor)
            state.descriptor = -1
        }
    }
}
