internal import Glibc

/// Checks addresses in playlists. A playlist is untrusted: it must not make this computer listen for connections or
/// read a device. User-provided addresses may do so.
package enum ListedAddress {
    /// Returns the reason to skip an address; nil if it may be played.
    package static func objection(toAddress address: String) -> String? {
        guard let separator = address.firstRange(of: "://") else { return nil }
        let scheme = address[..<separator.lowerBound].lowercased()
        let rest = address[separator.upperBound...]
        let query = rest.split(separator: "?", maxSplits: 1).dropFirst().first?.lowercased() ?? ""
        switch scheme {
        // Client connections only.
        case "http", "https", "ftp": return nil
        // Joining a multicast group is permitted; any other address here is a local one.
        case "udp", "rtp": return isMulticast(host(of: rest)) ? nil : listens
        case "srt": return query.contains("mode=listener") || query.contains("mode=rendezvous") ? listens : nil
        default:
            if query.contains("listen") { return listens }
            return query.contains("verify") ? "a playlist cannot change which servers are trusted" : nil
        }
    }

    /// Returns the reason to skip a file; nil if it may be played or does not exist.
    static func objection(toPath path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let type = status.st_mode & S_IFMT
        return type == S_IFCHR || type == S_IFBLK ? "a playlist cannot open devices" : nil
    }

    private static let listens = "a playlist cannot open a listening port"

    private static func host(of rest: Substring) -> String {
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let place = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        if place.hasPrefix("[") { return String(place.dropFirst().prefix { $0 != "]" }) }
        return String(place.prefix { $0 != ":" })
    }

    /// Returns true for multicast addresses: RFC 5771, 3 and RFC 4291, 2.7.
    private static func isMulticast(_ host: String) -> Bool {
        var four = in_addr()
        if inet_pton(AF_INET, host, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 28 == 0xE }
        var six = in6_addr()
        return inet_pton(AF_INET6, host, &six) == 1 && withUnsafeBytes(of: six) { $0[0] == 0xFF }
    }
}
