package import Discovery
internal import MediaCore
package import Sockets

/// The address of a speaker, `airplay://HOST[:PORT]`, usable without mDNS.
package struct SpeakerAddress: Hashable, Sendable, CustomStringConvertible {
    /// The default port of AirPlay 2 receivers; announcements may state another one.
    package static let usualPort: UInt16 = 7000
    private static let scheme = "airplay://"

    /// A host name, an IPv4 address, or an IPv6 address without brackets.
    package var host: String
    /// The TCP port.
    package var port: UInt16

    /// Creates an address. `host` is not checked.
    package init(host: String, port: UInt16 = usualPort) {
        self.host = host
        self.port = port
    }

    /// Converts an address found by discovery.
    package init(_ endpoint: NetworkEndpoint) { self.init(host: endpoint.address.description, port: endpoint.port) }

    /// Returns true if the text starts with `airplay://`, well-formed or not.
    package static func isAddress(_ text: String) -> Bool { text.prefix(scheme.count).lowercased() == scheme }

    /// Parses a user-provided address.
    ///
    /// - Throws: `DiscoveryError.badAddress` with the reason.
    package init(_ text: String) throws(DiscoveryError) {
        guard Self.isAddress(text) else {
            throw Self.bad(text, "it does not begin with \(Self.scheme)")
        }
        var rest = text.dropFirst(Self.scheme.count)
        if rest.last == "/" { rest.removeLast() }
        let portText: Substring?
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { throw Self.bad(text, "the bracket is not closed") }
            // RFC 6874 separates the interface by %25; users write %.
            let fields = rest[rest.index(after: rest.startIndex)..<end].split(separator: "%", maxSplits: 1)
            var literal = fields.first.map(String.init) ?? ""
            if fields.count == 2 {
                literal += "%" + (fields[1].hasPrefix("25") && fields[1].count > 2 ? fields[1].dropFirst(2) : fields[1])
            }
            guard let address = NetworkAddress(literal), !address.isIPv4 else {
                throw Self.bad(text, "there is no IPv6 address in the brackets, or its interface does not exist")
            }
            guard !address.isLinkLocal || address.scope != 0 else {
                throw Self.bad(text, "a link-local address needs its interface, as in [\(literal)%eth0]")
            }
            host = literal
            let tail = rest[rest.index(after: end)...]
            guard tail.isEmpty || tail.first == ":" else { throw Self.bad(text, "only a port can follow the bracket") }
            portText = tail.isEmpty ? nil : tail.dropFirst()
        } else {
            let fields = rest.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count <= 2 else { throw Self.bad(text, "an IPv6 address must be in brackets") }
            host = String(fields.first ?? "")
            portText = fields.count == 2 ? fields[1] : nil
            guard Self.isHost(host) else { throw Self.bad(text, "the host name or address is missing") }
        }
        if let portText {
            guard portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(portText), number > 0
            else { throw Self.bad(text, "the port must be a number from 1 to 65535") }
            port = number
        } else {
            port = Self.usualPort
        }
    }

    /// The address as `airplay://HOST[:PORT]`; the default port is omitted.
    package var description: String {
        let written = host.contains(":") ? "[\(host)]" : host
        return Self.scheme + written + (port == Self.usualPort ? "" : ":\(port)")
    }

    /// Letters, digits, hyphens, dots and underscores, at most the length of a DNS name (RFC 1035, section 2.3.4).
    private static func isHost(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy {
                $0 == "-" || $0 == "." || $0 == "_" || $0.properties.isAlphabetic || isDigit($0)
            }
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    private static func bad(_ text: String, _ why: String) -> DiscoveryError {
        DiscoveryError(
            .badAddress,
            "'\(text.prefix(300))' is not a speaker address: \(why); write airplay://HOST, airplay://HOST:PORT or airplay://[IPV6]:PORT."
        )
    }
}
