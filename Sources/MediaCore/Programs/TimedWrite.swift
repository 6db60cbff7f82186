internal import Glibc

/// Writes to a terminal, pipe or file of another program, which may have stopped reading.
package enum TimedWrite {
    /// poll(2) reports a pipe as writable when this much fits (POSIX.1, "pipe"; 4096 bytes on Linux).
    private static let chunkSize = 4096

    /// Writes bytes until all are written, the other end is closed, or no further chunk fits within the timeout.
    ///
    /// The descriptor stays blocking, because other programs share it. Blocks for at most `timeout` per chunk, unless
    /// another program fills the pipe between poll(2) and write(2).
    ///
    /// - Returns: the number of bytes that were written.
    package static func write(_ bytes: [UInt8], to descriptor: Int32, timeout: Duration) -> Int {
        var sent = 0
        while sent < bytes.count {
            var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let ready = poll(&watched, 1, Int32(clamping: timeout.wholeNanoseconds / 1_000_000))
            if ready < 0, errno == EINTR { continue }
            guard ready > 0, watched.revents & Int16(POLLOUT) != 0 else { return sent }
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + sent, min(chunkSize, bytes.count - sent))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return sent }
            sent += count
        }
        return sent
    }
}
