internal import Glibc

/// May this program keep time with speakers? PTP lives on two privileged ports (IEEE 1588-2008, Annex D.2).
enum PortCheck {
    private static let ports: [UInt16] = [319, 320]

    static func findings() -> [Finding] {
        let failures = ports.compactMap { port in bindFailure(port).map { (port, $0) } }
        guard let (port, code) = failures.first else {
            return [Finding("PTP ports", .good, "UDP 319 and 320 can be bound: speakers can be told the time")]
        }
        switch code {
        case EACCES, EPERM:
            return [
                Finding(
                    "PTP ports", .missing, "UDP 319 and 320 may not be bound: speakers that need PTP cannot be driven",
                    remedy: "sudo setcap cap_net_bind_service,cap_sys_nice+ep \(ProgramFile.quotedPath)")
            ]
        case EADDRINUSE:
            return [
                Finding(
                    "PTP ports", .missing,
                    "UDP \(port) is held by another program: speakers that need PTP cannot be driven",
                    remedy: "end that program; sudo ss -ulpn 'sport = :\(port)' names it")
            ]
        default:
            return [
                Finding(
                    "PTP ports", .missing, "UDP \(port) cannot be bound (\(String(cString: strerror(code))))",
                    remedy: "check the network of this machine")
            ]
        }
    }

    /// The errno value of a bind to the loopback address, which conflicts with any other holder there or on the
    /// wildcard; nil when it works.
    static func bindFailure(_ port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return code == 0 ? nil : errno
    }
}
