internal import Glibc
internal import MediaCore

/// Checks addresses in playlists. A playlist is untrusted: it must not make this computer listen for connections,
/// wait for a FIFO, read a device, or change which servers are trusted. User-provided addresses may do so.
package enum ListedAddress {
    /// Returns the reason to skip an address; nil if it may be played.
    package static func objection(toAddress address: String) -> String? {
        guard let separator = address.firstRange(of: "://") else { return nil }
        let scheme = address[..<separator.lowerBound].lowercased()
        let rest = address[separator.upperBound...]
        let query = rest.firstIndex(of: "?").map { rest[rest.index(after: $0)...] } ?? ""
        // Joining a multicast group is permitted; any other address of these protocols is a local one.
        if scheme == "udp" || scheme == "rtp", !isMulticast(host(of: rest)) { return listens }
        // Client connections only.
        if ["http", "https", "ftp"].contains(scheme) { return nil }
        for option in query.split(separator: "&") {
            let name = option.prefix { $0 != "=" }
            let value = option.dropFirst(name.count + 1)
            if name.hasPrefix("listen") || (name == "mode" && scheme == "srt" && value != "caller") { return listens }
            if let allowed = options[scheme], !allowed.contains(String(name)) {
                return "a playlist cannot set the option '\(PrintableText.of(String(name.prefix(40))))' of \(scheme)"
            }
        }
        return nil
    }

    /// The options that a playlist may set, by protocol: libavformat reads them from the query. Others open ports or
    /// files, or change which servers are trusted. The query of other protocols is for the server.
    private static let options: [String: Set<String>] = [
        "tcp": ["timeout"],
        "tls": ["timeout"],
        "udp": multicastOptions.union(["fifo_size", "overrun_nonfatal"]),
        "rtp": multicastOptions,
        "srt": [
            "mode", "timeout", "connect_timeout", "latency", "rcvlatency", "peerlatency", "passphrase", "pbkeylen",
            "streamid", "pkt_size", "payload_size", "transtype", "tlpktdrop", "nakreport", "maxbw", "oheadbw",
        ],
    ]
    private static let multicastOptions: Set<String> = [
        "pkt_size", "buffer_size", "timeout", "ttl", "sources", "block", "reuse", "localaddr",
    ]

    /// Returns the reason to skip a file; nil if it is a regular file or a folder, or does not exist. Opening it checks
    /// again, since another file may replace it.
    package static func objection(toPath path: String) -> String? {
        var status = stat()
        guard stat(path.systemPath, &status) == 0 else { return nil }
        return [S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) ? nil : "a playlist opens regular files only"
    }

    private static let listens = "a playlist cannot open a listening port"

    private static func host(of rest: Substring) -> String {
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let hostAndPort = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        if hostAndPort.hasPrefix("[") { return String(hostAndPort.dropFirst().prefix { $0 != "]" }) }
        return String(hostAndPort.prefix { $0 != ":" })
    }

    /// Returns true for multicast addresses: RFC 5771, 3 and RFC 4291, 2.7.
    private static func isMulticast(_ host: String) -> Bool {
        var four = in_addr()
        if inet_pton(AF_INET, host, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 28 == 0xE }
        var six = in6_addr()
        return inet_pton(AF_INET6, host, &six) == 1 && withUnsafeBytes(of: six) { $0[0] == 0xFF }
    }
}
