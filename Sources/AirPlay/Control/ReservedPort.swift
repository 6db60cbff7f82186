internal import Glibc
internal import PTP

/// A UDP port of ours that requests name because they must name one; nothing is read from it.
final class ReservedPort: Sendable {
    let number: UInt16
    private let descriptor: Int32

    init(on address: IPv4Address) throws(AirPlayError) {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var local = address.socketAddress(port: 0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &local) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
            }
        }
        guard descriptor >= 0, code == 0 else {
            if descriptor >= 0 { close(descriptor) }
            throw AirPlayError(.unreachable, "The system refuses a UDP port (error \(errno)); close some programs.")
        }
        self.descriptor = descriptor
        number = UInt16(bigEndian: local.sin_port)
    }

    deinit { close(descriptor) }
}
