/// Where a speaker is reached: a name or an IPv4 address, and the port of its request channel.
public struct SpeakerAddress: Hashable, Sendable, CustomStringConvertible {
    /// The port of most AirPlay 2 speakers; discovery gives the true one.
    public static let usualPort: UInt16 = 7000

    public var host: String
    public var port: UInt16

    public init(host: String, port: UInt16 = usualPort) {
        self.host = host
        self.port = port
    }

    /// Reads `airplay://HOST` or `airplay://HOST:PORT`; nil for anything else.
    public init?(url: String) {
        let scheme = "airplay://"
        guard url.hasPrefix(scheme) else { return nil }
        var rest = url.dropFirst(scheme.count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), !parts[0].isEmpty,
            parts[0].utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2F && $0 != 0x40 })
        else { return nil }
        host = String(parts[0])
        port = Self.usualPort
        if parts.count == 2 {
            guard let number = UInt16(parts[1]), number != 0 else { return nil }
            port = number
        }
    }

    public var description: String { "airplay://\(host):\(port)" }
}
