internal import CSockets
internal import Glibc

/// Finds out whether anybody listens at a local socket (unix(7)).
package enum UnixSocket {
    /// Connects and hangs up. What is no address of such a socket answers nobody.
    package static func answers(at path: String) -> Bool {
        guard let address = LocalSocketAddress(path) else { return false }
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let code = address.withSocketAddress { connect(descriptor, $0, $1) }
        // A full queue is somebody, too.
        return code == 0 || errno == EAGAIN
    }
}
