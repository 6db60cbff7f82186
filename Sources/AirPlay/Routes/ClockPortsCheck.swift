internal import CSockets
internal import Glibc
internal import MediaCore
package import PTP

extension RouteConditions.ClockPorts {
    /// Whether the ports can be had on the address that packets to a speaker would leave from. Sends nothing.
    ///
    /// - Parameter clocks: this process's own, which may hold the ports already for another speaker.
    package static func check(
        toward speaker: NetworkAddress?, sharing clocks: PTPDirectory? = nil
    ) -> RouteConditions.ClockPorts {
        let local = speaker.flatMap { localAddress(toward: $0) } ?? IPv4Address(rawValue: 0x7F00_0001)
        if clocks?.isServing(on: local) == true { return .available }
        do {
            try PTPPorts.check(on: local)
            return .available
        } catch {
            return error.code == .notPermitted ? .forbidden(error.message) : .unavailable(error.message)
        }
    }

    /// Connecting a UDP socket chooses a route and an address, and nothing more (udp(7)).
    private static func localAddress(toward speaker: NetworkAddress) -> IPv4Address? {
        guard let target = IPv4Address(speaker.description) else { return nil }
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var address = target.socketAddress(port: 319)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isKnown = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        return isKnown ? IPv4Address(address) : nil
    }
}
