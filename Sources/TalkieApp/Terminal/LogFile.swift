internal import Glibc
internal import MediaCore

/// A file with all messages of a session, with time and level, readable only by its owner. Any thread; lines are
/// written immediately.
///
///     talkie 0.1.0 log
///     [    12.345][warning] 'Kitchen' is silent.
final class LogFile: Sendable {
    /// The maximum size; then the log ends with a line that says so.
    static let maxBytes = 16 << 20

    private let start = HostInstant.now
    /// The descriptor, -1 after a failure, and the number of bytes written. Guarded by its lock.
    private let state: Lock<(descriptor: Int32, bytes: Int)>
    private let limit: Int

    /// Creates or replaces a log file.
    ///
    /// - Parameter limit: The maximum size in bytes.
    /// - Throws: `invalidArgument` if an existing file is no log, `failed` if it cannot be written.
    init(creating path: String, limit: Int = LogFile.maxBytes) throws(TalkieError) {
        if Self.isSomethingElse(path) {
            throw TalkieError(
                .invalidArgument,
                "--log-file would overwrite '\(path)', which is not a log of Talkie; choose another file")
        }
        // O_NONBLOCK: a pipe without a reader must not block.
        let descriptor = PrivateFile.create(path, O_WRONLY | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw TalkieError(
                .failed, "the log '\(path)' cannot be written (\(SystemCause.text(errno))); choose another file")
        }
        state = Lock((descriptor, 0))
        self.limit = limit
        put(Self.head + "\(Release.version) log\n")
    }

    deinit { state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } } }

    func write(_ level: LogLevel, _ text: String) {
        let time = Decimals.text((HostInstant.now - start).inSeconds, 3)
        let column = String(repeating: " ", count: max(0, 10 - time.utf8.count)) + time
        put("[\(column)][\(level.name)] \(PrintableText.sentence(text))\n")
    }

    private static let head = "talkie "

    /// Whether a regular file exists that is no log.
    private static func isSomethingElse(_ path: String) -> Bool {
        var status = stat()
        guard stat(path.systemPath, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            return false
        }
        let descriptor = open(path.systemPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
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
            let isFull = state.bytes + bytes.count > limit
            if isFull { bytes = Array("the log is full\n".utf8) }
            state.bytes += bytes.count
            // The disk is full or the reader is gone: logging stops, playback continues.
            let isBroken = CompleteWrite.write(bytes, to: state.descriptor) != nil
            guard isFull || isBroken else { return }
            close(state.descriptor)
            state.descriptor = -1
        }
    }
}
