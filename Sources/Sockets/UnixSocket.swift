internal import CSockets
internal import Glibc

/// Tests for a listener on a Unix domain socket (unix(7)).
package enum UnixSocket {
    /// Returns true if a non-blocking connect succeeds; false also for text that is no address.
    package static func answers(at path: String) -> Bool {
        guard let address = LocalSocketAddress(path) else { return false }
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let code = address.withSocketAddress { connect(descriptor, $0, $1) }
        // EAGAIN: the listener's queue is full.
        return code == 0 || errno == EAGAIN
    }
}
