internal import Glibc
internal import MediaCore

/// Collects lines and writes them in large blocks. Used by one thread; allocates once.
struct LineBuffer {
    /// Size in bytes at which a block is written.
    static let capacity = 64 * 1024

    /// The signature of write(2): descriptor, bytes, count.
    typealias Write = @Sendable (Int32, UnsafeRawPointer?, Int) -> Int

    private var bytes: [UInt8] = []
    private let write: Write
    /// The number of bytes written.
    var written = 0
    /// Lines since the buffer was last empty.
    private var lines = 0
    /// The number of lines dropped by the last failure.
    private(set) var dropped = 0

    init(write: @escaping Write = { Glibc.write($0, $1, $2) }) {
        self.write = write
        bytes.reserveCapacity(Self.capacity * 2)
    }

    /// Whether to flush: another line may exceed the capacity.
    var isFull: Bool { bytes.count >= Self.capacity - 4096 }

    /// Appends a line that `body` fills.
    mutating func line(_ body: (inout JSONObjectWriter) -> Void) {
        var line = JSONObjectWriter(bytes: bytes)
        // Moves the storage, so that it is not copied.
        bytes = []
        body(&line)
        bytes = line.finish()
        lines += 1
    }

    /// Maximum number of bytes that wait for a slow reader: two minutes of a film.
    static let largestBacklog = 1 << 20

    /// Writes as much as the descriptor accepts; the rest waits in case of a full pipe.
    ///
    /// On failure, or if more than `largestBacklog` waits, all lines are dropped.
    ///
    /// - Parameter timeout: The maximum time to wait for a full pipe.
    /// - Returns: The errno value of a failure, or nil.
    mutating func flush(to descriptor: Int32, waiting timeout: Duration = .zero) -> Int32? {
        let deadline = HostInstant.now.advanced(by: timeout)
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + offset, $0.count - offset) }
            if count > 0 {
                offset += count
                written += count
                continue
            }
            let code = count == 0 ? ENOSPC : errno
            if code == EINTR { continue }
            if code == EAGAIN {
                let left = deadline - .now
                if left > .zero {
                    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&waiting, 1, Int32(max(1, left.inMilliseconds)))
                    continue
                }
                if timeout == .zero, bytes.count - offset <= Self.largestBacklog { break }
            }
            bytes.removeAll(keepingCapacity: true)
            defer { lines = 0 }
            dropped = lines
            return code
        }
        bytes.removeFirst(offset)
        if bytes.isEmpty { lines = 0 }
        return nil
    }
}
