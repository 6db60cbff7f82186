internal import MediaCore

/// A parsed `http` or `https` URL (RFC 9110, 4.2).
struct WebAddress: Sendable, Hashable {
    var isSecure: Bool
    /// In lower case; IPv6 addresses in brackets.
    var host: String
    var port: UInt16
    /// Path and query, from the first slash on.
    var target: String
    /// The decoded `name:secret`; nil if there are no credentials.
    var credentials: String?

    /// The maximum length in bytes; addresses of media servers have tokens in their query.
    static let longest = 32 << 10

    /// Parses a URL; nil if it is not a valid `http` or `https` URL.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.longest else { return nil }
        let isSecure = Self.begins(bytes, "https://")
        guard isSecure || Self.begins(bytes, "http://") else { return nil }
        self.isSecure = isSecure
        let rest = bytes.dropFirst(isSecure ? 8 : 7)
        var authority = rest.prefix { !"/?#\\".utf8.contains($0) }
        let tail = rest[authority.endIndex...].prefix { $0 != UInt8(ascii: "#") }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            credentials = String(decoding: PercentEncoding.decoded(authority[..<at]), as: UTF8.self)
            authority = authority[authority.index(after: at)...]
        }
        var host = authority
        var digits: ArraySlice<UInt8> = []
        let isBracketed = authority.first == UInt8(ascii: "[")
        let from =
            isBracketed ? authority.firstIndex(of: UInt8(ascii: "]")) ?? authority.endIndex : authority.startIndex
        if isBracketed, from == authority.endIndex { return nil }
        if let colon = authority[from...].firstIndex(of: UInt8(ascii: ":")) {
            host = authority[..<colon]
            digits = authority[authority.index(after: colon)...]
        }
        // Rejects characters that could end the request line or disguise the host.
        let isPlain = host.allSatisfy { $0 > 0x20 && $0 != 0x7F && !"\"<>%^`{|}".utf8.contains($0) }
        guard !host.isEmpty, host.count <= 255, isPlain else { return nil }
        self.host = String(decoding: host, as: UTF8.self).lowercased()
        if digits.isEmpty {
            port = isSecure ? 443 : 80
        } else {
            guard let number = DecimalNumber.integer(String(decoding: digits, as: UTF8.self)),
                let port = UInt16(exactly: number), port > 0
            else { return nil }
            self.port = port
        }
        target = (tail.first == UInt8(ascii: "/") ? "" : "/") + Self.encoded(tail)
    }

    /// Returns the target of a reference in a response (RFC 3986, 5.2); nil if it is not an HTTP URL.
    func resolving(_ reference: String) -> WebAddress? {
        if reference.utf8.contains(UInt8(ascii: ":")), let scheme = Self.scheme(of: reference) {
            return scheme == "http" || scheme == "https" ? WebAddress(reference) : nil
        }
        if reference.hasPrefix("//") { return WebAddress((isSecure ? "https:" : "http:") + reference) }
        let path = target.prefix { $0 != "?" }
        let joined: String
        if reference.isEmpty || reference.hasPrefix("#") {
            joined = target
        } else if reference.hasPrefix("?") {
            joined = path + reference
        } else if reference.hasPrefix("/") {
            joined = reference
        } else {
            joined = path[...(path.lastIndex(of: "/") ?? path.startIndex)] + reference
        }
        // The origin is not parsed again: a manifest names thousands of segments.
        let resolved = Self.withoutDots(joined)
        guard origin.utf8.count + resolved.utf8.count <= Self.longest else { return nil }
        var next = self
        next.target = Self.encoded(resolved.utf8.prefix { $0 != UInt8(ascii: "#") })
        return next
    }

    /// Scheme, host and port.
    var origin: String { (isSecure ? "https://" : "http://") + authority }

    /// The host, and the port unless it is the default.
    var authority: String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }

    var text: String { origin + target }

    /// Whether secrets for this server may be sent to `other`: same host and port, and no weaker protection. A server
    /// on port 80 may redirect to https on port 443.
    func isHome(of other: WebAddress) -> Bool {
        guard host == other.host, other.isSecure || !isSecure else { return false }
        return port == other.port || (!isSecure && other.isSecure && port == 80 && other.port == 443)
    }

    // MARK: Percent encoding

    private static func scheme(of text: String) -> String? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let name = text[..<colon].lowercased()
        guard let first = name.utf8.first, (97...122).contains(first) else { return nil }
        let isName = name.utf8.allSatisfy {
            (97...122).contains($0) || (48...57).contains($0) || "+-.".utf8.contains($0)
        }
        return isName ? name : nil
    }

    private static func begins(_ bytes: [UInt8], _ prefix: String) -> Bool {
        bytes.count >= prefix.utf8.count
            && zip(bytes, prefix.utf8).allSatisfy { $0 | ($0 < 0x5B && $0 > 0x40 ? 0x20 : 0) == $1 }
    }

    /// Writes bytes that are not allowed in a request line as `%XX`.
    private static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        PercentEncoding.encoded(bytes) {
            $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: ">")
        }
    }

    /// Removes dot segments (RFC 3986, 5.2.4).
    private static func withoutDots(_ joined: String) -> String {
        let path = Substring(joined.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        var segments: [Substring] = []
        let all = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
            .map { Substring($0) }
        for (index, segment) in all.enumerated() {
            let isLast = index == all.count - 1
            if segment == ".." { _ = segments.popLast() }
            if segment == "." || segment == ".." {
                if isLast { segments.append("") }
            } else {
                segments.append(segment)
            }
        }
        return "/" + segments.joined(separator: "/") + joined[path.endIndex...]
    }
}
