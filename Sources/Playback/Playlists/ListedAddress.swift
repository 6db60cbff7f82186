internal import Glibc

/// What a playlist may name. A list comes from anywhere: it must not make this computer listen for whoever sends, nor read a
/// device; a person who types such an address wants that.
package enum ListedAddress {
    /// Why an address is left out; nil when it may be played.
    package static func objection(toAddress address: String) -> String? {
        guard let separator = address.firstRange(of: "://") else { return nil }
        let scheme = address[..<separator.lowerBound].lowercased()
        let rest = address[separator.upperBound...]
        let query = rest.split(separator: "?", maxSplits: 1).dropFirst().first?.lowercased() ?? ""
        switch scheme {
        // A server's own affair; nothing in it is for this computer.
        case "http", "https", "ftp": return nil
        // Whoever belongs to a group hears what is sent to it; any other address here is this computer's own.
        case "udp", "rtp": return isMulticast(host(of: rest)) ? nil : listens
        case "srt": return query.contains("mode=listener") || query.contains("mode=rendezvous") ? listens : nil
        default:
            if query.contains("listen") { return listens }
            return query.contains("verify") ? "a list does not say which servers are believed" : nil
        }
    }

    /// Why a file is left out; nil when it may be played, or is not there.
    static func objection(toPath path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        let type = status.st_mode & S_IFMT
        return type == S_IFCHR || type == S_IFBLK ? "a list opens no device" : nil
    }

    private static let listens = "a list does not make this computer listen"

    private static func host(of rest: Substring) -> String {
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let place = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        if place.hasPrefix("[") { return String(place.dropFirst().prefix { $0 != "]" }) }
        return String(place.prefix { $0 != ":" })
    }

    /// RFC 5771, 3 and RFC 4291, 2.7.
    private static func isMulticast(_ host: String) -> Bool {
        var four = in_addr()
        if inet_pton(AF_INET, host, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 28 == 0xE }
        var six = in6_addr()
        return inet_pton(AF_INET6, host, &six) == 1 && withUnsafeBytes(of: six) { $0[0] == 0xFF }
    }
}
