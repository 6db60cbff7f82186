internal import Glibc

/// A TCP port of 127.0.0.1 for a server that must be given a number.
///
/// While this object exists the kernel gives the port to no other socket. A server that sets SO_REUSEADDR (mosquitto,
/// libmicrohttpd) can listen on it all the same, because this socket does not listen (socket(7)).
package final class ReservedPort: Sendable {
    package let number: Int
    private let descriptor: Int32

    package init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        var isShared: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isShared, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            let generic = bytes.bindMemory(to: sockaddr.self).baseAddress!
            return bind(descriptor, generic, size) == 0 && getsockname(descriptor, generic, &size) == 0
        }
        number = Int(UInt16(bigEndian: address.sin_port))
        guard isBound else { throw TestClips.Failure(description: "no free port: errno \(errno)") }
    }

    deinit { close(descriptor) }
}
