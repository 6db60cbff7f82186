internal import CSockets
internal import Glibc
internal import MediaCore
internal import Synchronization

/// Tests for a listener on a Unix domain socket (unix(7)).
package enum UnixSocket {
    /// Returns true if a non-blocking connect succeeds; false also for text that is no address.
    package static func answers(at path: String) -> Bool {
        guard let address = LocalSocketAddress(path) else { return false }
        let result = LocalStream.connect(to: address)
        // EAGAIN: the listener's queue is full.
        return result.stream != nil || result.cause == EAGAIN
    }

    /// Returns true if there is a socket on which no process listens.
    static func isAbandoned(_ address: LocalSocketAddress) -> Bool {
        LocalStream.connect(to: address).cause == ECONNREFUSED
    }
}

/// A connection on a Unix domain socket, non-blocking. Any thread.
package final class LocalStream: Sendable {
    package let descriptor: Int32

    /// Takes ownership of a non-blocking descriptor.
    init(descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    fileprivate static let kind =
        Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)

    /// Connects, non-blocking. Returns the connection, or an errno value.
    static func connect(to address: LocalSocketAddress) -> (stream: LocalStream?, cause: Int32) {
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { return (nil, errno) }
        let stream = LocalStream(descriptor: descriptor)
        let code = address.withSocketAddress { Glibc.connect(descriptor, $0, $1) }
        return code == 0 ? (stream, 0) : (nil, errno)
    }

    /// Connects to a path, non-blocking; nil if no process listens there.
    package static func connect(to path: String) -> LocalStream? {
        LocalSocketAddress(path).flatMap { connect(to: $0).stream }
    }

    /// Sends as many bytes as fit, non-blocking.
    package func send(_ bytes: UnsafeRawBufferPointer) -> TCPSocket.Transfer { TCPSocket.send(bytes, on: descriptor) }

    /// Reads queued bytes, at most `limit`. Non-blocking.
    package func receiveNow(into buffer: inout [UInt8], limit: Int) -> TCPSocket.Received {
        TCPSocket.receiveNow(from: descriptor, into: &buffer, limit: limit)
    }

    /// Ends the sending direction; the peer reads an end after all sent bytes.
    package func finish() { shutdown(descriptor, Int32(SHUT_WR)) }
}

/// A listening socket in the file system (unix(7)), which only processes of the same user can connect to, and those of
/// an admitted group. Any thread.
package final class LocalListener: Sendable {
    package let descriptor: Int32
    private let path: String
    private let device: dev_t
    private let node: ino_t
    /// Written by `accept`, read by any thread.
    private let starved = Atomic<Bool>(false)
    /// True after `remove`: its number may belong to another program's file then.
    private let isRemoved = Atomic<Bool>(false)

    /// Creates the socket with mode 0600. Replaces a socket on which no process listens, and nothing else.
    ///
    /// A lock file beside the socket serializes several starts: one that has found an unused socket would otherwise
    /// remove that of another one.
    ///
    /// - Parameters:
    ///   - name: A path, relative to the working directory.
    ///   - timeout: How long another start is waited for.
    ///   - beforeReplacing: Called before an unused socket is removed; for tests.
    /// - Throws: `addressInUse`, `notPermitted`, `unavailable` or `exhausted`, with a part of a sentence.
    package init(
        path name: String, timeout: Duration = .seconds(1), beforeReplacing: () -> Void = {}
    ) throws(SocketError) {
        let path = try Self.absolute(name)
        guard !name.isEmpty, let address = LocalSocketAddress(path) else {
            throw SocketError(.unavailable, "the path is empty or longer than 107 bytes")
        }
        let lock = try StartLock(beside: path, timeout: timeout)
        defer { lock.release() }
        try Self.removeAbandoned(path, address, beforeReplacing)
        let descriptor = socket(AF_UNIX, LocalStream.kind, 0)
        guard descriptor >= 0 else { throw SocketError(binding: errno) }
        // Before bind(2), which creates the file with the mode of the descriptor: no time with another mode.
        guard fchmod(descriptor, 0o600) == 0, address.withSocketAddress({ bind(descriptor, $0, $1) }) == 0 else {
            let cause = errno
            close(descriptor)
            throw SocketError(binding: cause)
        }
        var status = stat()
        guard listen(descriptor, 16) == 0, lstat(path, &status) == 0 else {
            let cause = errno
            unlink(path)
            close(descriptor)
            throw SocketError(binding: cause)
        }
        self.descriptor = descriptor
        (self.path, device, node) = (path, status.st_dev, status.st_ino)
    }

    deinit {
        remove()
        close(descriptor)
    }

    private static func absolute(_ name: String) throws(SocketError) -> String {
        if name.hasPrefix("/") { return name }
        guard let folder = getcwd(nil, 0) else { throw SocketError(binding: errno) }
        defer { free(folder) }
        return String(cString: folder) + "/" + name
    }

    private static func removeAbandoned(
        _ path: String, _ address: LocalSocketAddress, _ beforeReplacing: () -> Void
    ) throws(SocketError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw SocketError(.addressInUse, "a file of this name exists and is not a socket")
        }
        guard UnixSocket.isAbandoned(address) else {
            throw SocketError(.addressInUse, "another program listens there")
        }
        beforeReplacing()
        guard unlink(path) == 0 || errno == ENOENT else { throw SocketError(binding: errno) }
    }

    /// Lets processes of a group connect too: the file's group and mode become 0660.
    ///
    /// - Throws: `unavailable` for an unknown group, `notPermitted` for one that this process does not belong to.
    package func admit(group name: String) throws(SocketError) {
        var (entry, found): (Glibc.group, UnsafeMutablePointer<Glibc.group>?) = (Glibc.group(), nil)
        var texts = [CChar](repeating: 0, count: 64 << 10)
        guard getgrnam_r(name, &entry, &texts, texts.count, &found) == 0, found != nil else {
            throw SocketError(.unavailable, "there is no such group; create it with groupadd")
        }
        guard lchown(path, uid_t.max, entry.gr_gid) == 0, chmod(path, 0o660) == 0 else {
            throw SocketError(
                .notPermitted,
                "\(SystemCause.text(errno)); the kiosk's user must belong to it (SupplementaryGroups= of its unit)")
        }
    }

    /// Removes the file, unless another socket has replaced it. New connections are impossible then.
    package func remove() {
        var status = stat()
        guard !isRemoved.exchange(true, ordering: .relaxed), lstat(path, &status) == 0, status.st_dev == device,
            status.st_ino == node
        else { return }
        unlink(path)
    }

    /// True if the last `accept` failed because no descriptor was available. The connection stays queued and the
    /// listener readable; the caller should pause before polling again.
    package var isStarved: Bool { starved.load(ordering: .relaxed) }

    /// Returns the next queued connection, non-blocking. Nil if there is none or it cannot be accepted (`isStarved`).
    package func accept() -> LocalStream? {
        let socket = csock_accept(descriptor, nil, nil)
        starved.store(socket < 0 && [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno), ordering: .relaxed)
        guard socket >= 0 else { return nil }
        return LocalStream(descriptor: socket)
    }
}

/// A lock file (flock(2)) that exists only while a socket is created.
private struct StartLock {
    private let path: String
    private let descriptor: Int32

    /// - Throws: `addressInUse` if another process holds the lock until the timeout; the errors of creating a file.
    init(beside socket: String, timeout: Duration) throws(SocketError) {
        path = socket + ".lock"
        let deadline = HostInstant.now.advanced(by: timeout)
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw SocketError(binding: errno) }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                // Its last holder may have removed the file meanwhile: another start would lock a new one.
                var (own, present) = (stat(), stat())
                if fstat(descriptor, &own) == 0, lstat(path, &present) == 0, own.st_dev == present.st_dev,
                    own.st_ino == present.st_ino
                {
                    self.descriptor = descriptor
                    return
                }
            } else if errno != EWOULDBLOCK || HostInstant.now >= deadline {
                let code = errno
                close(descriptor)
                throw code == EWOULDBLOCK
                    ? SocketError(.addressInUse, "another program is being started there") : SocketError(binding: code)
            }
            close(descriptor)
            HostInstant.now.advanced(by: .milliseconds(10)).sleep()
        }
    }

    func release() {
        unlink(path)
        close(descriptor)
    }
}
