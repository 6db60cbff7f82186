package import AirPlayTransport
internal import MediaCore
package import PTP
internal import Sockets

extension RouteConditions.ClockPorts {
    /// Checks whether the PTP ports are available on the local address toward a speaker. Sends nothing.
    ///
    /// A speaker without PTP needs none: the ports remain free for another program that starts at the same moment.
    ///
    /// - Parameter clocks: The PTP instances of this process, which may already hold the ports; otherwise they are
    ///   reserved there. Nil to check only.
    package static func check(
        toward speaker: DiscoveredSpeaker, reservedIn clocks: PTPDirectory? = nil
    ) -> RouteConditions.ClockPorts {
        guard RouteDecision.canUsePTP(speaker.traits) else { return .available }
        let local =
            (speaker.sessionEndpoints.first?.address).flatMap { TCPSocket.localAddress(toward: $0) } ?? .loopback
        do {
            if let clocks { try clocks.reserve(on: local) } else { try PTPPorts.check(on: local) }
            return .available
        } catch {
            return error.code == .notPermitted ? .forbidden(error.message) : .unavailable(error.message)
        }
    }
}
