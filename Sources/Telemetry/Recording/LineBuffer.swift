internal import Glibc
internal import MediaCore

/// Collects lines and writes them to a descriptor in large pieces. Used by one thread; allocates once.
struct LineBuffer {
    /// A piece that one write(2) hands to the kernel.
    static let capacity = 64 * 1024

    /// write(2): a descriptor, bytes, how many.
    typealias Write = @Sendable (Int32, UnsafeRawPointer?, Int) -> Int

    private var bytes: [UInt8] = []
    private let write: Write
    /// Bytes that the kernel took.
    var written = 0
    /// Lines since it took everything.
    private var lines = 0
    /// How many of them the last failure took along.
    private(set) var dropped = 0

    init(write: @escaping Write = { Glibc.write($0, $1, $2) }) {
        self.write = write
        bytes.reserveCapacity(Self.capacity * 2)
    }

    var isEmpty: Bool { bytes.isEmpty }
    /// Time to write: another line may exceed the capacity.
    var isFull: Bool { bytes.count >= Self.capacity - 4096 }

    /// Adds what `body` writes as one line.
    mutating func line(_ body: (inout JSONLine) -> Void) {
        var line = JSONLine(bytes: bytes)
        // The line works on the only copy of the storage, so nothing is duplicated.
        bytes = []
        body(&line)
        bytes = line.finish()
        lines += 1
    }

    /// Lines that wait for a reader who is slow, in bytes; two minutes of a film.
    static let largestBacklog = 1 << 20

    /// Writes as much as the descriptor takes at once; what a pipe has no room for waits for the next time. On failure, and when
    /// too much waits, the rest is dropped and the errno value returned.
    ///
    /// - Parameter patience: how long room is waited for.
    mutating func flush(to descriptor: Int32, waiting patience: Duration = .zero) -> Int32? {
        let deadline = HostInstant.now.advanced(by: patience)
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
                if patience == .zero, bytes.count - offset <= Self.largestBacklog { break }
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
