package import MediaCore
package import Playback
package import Sockets

/// The link to a page whose port is reserved, and which is not served yet.
package struct RemotePageLink: Sendable {
    /// The usual address: all addresses of this computer.
    package static let standardAddress = HTTPAddress(address: .anyIPv4, port: 9596)

    /// The address and the port of the link.
    package let address: HTTPAddress
    /// The link.
    package var text: String { token.link(to: address) }
    private let listener: TCPListener
    private let token: AccessToken

    /// Reserves the port.
    ///
    /// - Throws: `addressInUse`, `notPermitted`, `unavailable` or `exhausted`, with a part of a sentence.
    package init(at address: HTTPAddress, token: AccessToken = AccessToken()) throws(SocketError) {
        guard HTTPServer.isAvailable else {
            throw SocketError(.unavailable, "libmicrohttpd is missing; install libmicrohttpd12")
        }
        do throws(SocketError) { listener = try TCPListener(address: address.address, port: address.port) } catch {
            let holder = error.code == .addressInUse ? PortHolder.name(ofTCP: address.port) : nil
            throw holder.map { SocketError(.addressInUse, "\($0) has port \(address.port)") } ?? error
        }
        self.token = token
        self.address = HTTPAddress(address: Self.reachableAddress(of: address.address), port: listener.port)
    }

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - screenshot: Captures the screen as a PNG; nil without an image.
    ///   - complain: Called on the server's thread with a sentence if the page cannot be served.
    /// - Throws: If the system has no descriptor or thread.
    package func serve(
        _ control: PlayerControl, screenshot: @escaping HTTPScreenshots.Capture,
        complain: @escaping @Sendable (String) -> Void
    ) throws(ExhaustionError) -> RemotePage {
        try RemotePage.start(
            on: listener, token: token, control: control, screenshot: screenshot, complain: complain)
    }

    /// Returns the address under which other computers reach a server on an address: of several, that of the default
    /// route.
    static func reachableAddress(of address: NetworkAddress) -> NetworkAddress {
        guard address.isUnspecified else { return address }
        // The first one is this computer only. 192.0.2.1 is no host's address (RFC 5737): it has the default route.
        let all = LocalAddresses.all()
        let preferred = TCPSocket.localAddress(toward: NetworkAddress(ipv4: 0xC000_0201))
        return all.dropFirst().first { $0 == preferred } ?? all.dropFirst().first ?? all[0]
    }
}
