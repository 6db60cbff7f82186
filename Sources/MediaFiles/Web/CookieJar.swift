internal import Glibc
internal import MediaCore

/// Stores the cookies of servers and selects those of a request (RFC 6265). Any thread.
public final class CookieJar: Sendable {
    struct Cookie: Sendable, Hashable {
        var name: String
        var value: String
        /// In lower case, without a leading dot.
        var domain: String
        /// Whether the cookie is valid for this host only, not its subdomains.
        var isHostOnly: Bool
        var path: String
        var isSecure: Bool
        /// The expiry in seconds since 1970; nil: at the end of the program.
        var expiry: Int64?
    }

    /// The maximum numbers and sizes (RFC 6265, 6.1).
    static let maxCookies = 3000
    static let longestCookie = 4096
    private static let maxPerRequest = 180
    private let cookies = Lock<[Cookie]>([])
    private let now: @Sendable () -> Int64

    /// Creates an empty jar.
    public convenience init() { self.init { Int64(time(nil)) } }

    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    var all: [Cookie] { cookies.withLock { $0 } }

    /// Returns the `Cookie` value of a request to an address; nil if there are no cookies for it.
    func header(for address: WebAddress) -> String? {
        let instant = now()
        let path = String(address.target.prefix { $0 != "?" })
        let fitting = cookies.withLock { all in
            all.filter { cookie in
                (address.isSecure || !cookie.isSecure) && (cookie.expiry.map { $0 > instant } ?? true)
                    && Self.matches(address.host, cookie) && Self.matches(path: path, cookie.path)
            }
        }
        guard !fitting.isEmpty else { return nil }
        // Longer paths first (RFC 6265, 5.4).
        return fitting.sorted { $0.path.utf8.count > $1.path.utf8.count }.prefix(Self.maxPerRequest)
            .map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// Stores a cookie of a `Set-Cookie` value (RFC 6265, 5.2, 5.3); an invalid one is ignored.
    func store(_ line: String, from address: WebAddress) {
        guard line.utf8.count <= Self.longestCookie else { return }
        var attributes = line.split(separator: ";", omittingEmptySubsequences: false).map(Self.trimmed)[...]
        guard let pair = attributes.popFirst(), let equals = pair.firstIndex(of: "=") else { return }
        var cookie = Cookie(
            name: Self.trimmed(pair[..<equals]), value: Self.trimmed(pair[pair.index(after: equals)...]),
            domain: address.host, isHostOnly: true, path: Self.folder(of: address.target), isSecure: false)
        for attribute in attributes {
            let keyAndValue = attribute.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
                Self.trimmed)
            let value = keyAndValue.count > 1 ? keyAndValue[1] : ""
            switch keyAndValue[0].lowercased() {
            case "domain" where !value.isEmpty:
                let domain = Self.domain(value)
                // A server must not set cookies for other domains or for top-level domains.
                guard Self.matches(address.host, domain), domain.contains(".") || domain == address.host else { return }
                if !Self.isNumeric(domain), PublicSuffix.contains(domain) {
                    // Such a name may also be a host, which then sets a host-only cookie (RFC 6265, 5.3, step 5).
                    guard domain == address.host else { return }
                    break
                }
                (cookie.domain, cookie.isHostOnly) = (domain, domain == address.host && Self.isNumeric(domain))
            case "path" where value.hasPrefix("/"): cookie.path = value
            case "secure": cookie.isSecure = true
            case "max-age":
                if let seconds = Int64(value) {
                    cookie.expiry = seconds <= 0 ? 0 : now().addingClamped(seconds)
                }
            // `Max-Age` has precedence (RFC 6265, 5.3).
            case "expires" where cookie.expiry == nil: cookie.expiry = CalendarDate.cookieExpiry(value)
            default: break
            }
        }
        guard address.isSecure || !cookie.isSecure else { return }
        add(cookie)
    }

    /// Adds concatenated cookies as written by yt-dlp:
    /// `name=value; Domain=.example.org; Path=/; Secure; Expires=1; name2=value2; …`
    package func add(listed text: String) {
        var cookie: Cookie?
        func close() {
            guard let cookie, !cookie.domain.isEmpty, cookie.isHostOnly || !PublicSuffix.contains(cookie.domain) else {
                return
            }
            add(cookie)
        }
        for attribute in text.split(separator: ";").prefix(Self.maxCookies) {
            let keyAndValue = attribute.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
                Self.trimmed)
            var value = keyAndValue.count > 1 ? keyAndValue[1] : ""
            if value.count > 1, value.hasPrefix("\""), value.hasSuffix("\"") {
                value = String(value.dropFirst().dropLast())
            }
            switch keyAndValue[0].lowercased() {
            case "domain":
                cookie?.domain = Self.domain(value)
                cookie?.isHostOnly = !value.hasPrefix(".")
            case "path": if value.hasPrefix("/") { cookie?.path = value }
            case "secure": cookie?.isSecure = true
            case "expires": cookie?.expiry = Int64(value)
            case "httponly", "version", "samesite", "port": break
            default:
                close()
                cookie = Cookie(
                    name: keyAndValue[0], value: value, domain: "", isHostOnly: true, path: "/", isSecure: false)
            }
        }
        close()
    }

    func add(_ cookie: Cookie) {
        guard !cookie.name.isEmpty || !cookie.value.isEmpty, Self.isClean(cookie.name), Self.isClean(cookie.value)
        else { return }
        cookies.withLock { all in
            all.removeAll { $0.name == cookie.name && $0.domain == cookie.domain && $0.path == cookie.path }
            if let expiry = cookie.expiry, expiry <= now() { return }
            if all.count >= Self.maxCookies { all.removeFirst() }
            all.append(cookie)
        }
    }

    // MARK: Matching

    private static func matches(_ host: String, _ cookie: Cookie) -> Bool {
        cookie.isHostOnly ? host == cookie.domain : matches(host, cookie.domain)
    }

    /// Whether a host matches a domain (RFC 6265, 5.1.3).
    static func matches(_ host: String, _ domain: String) -> Bool {
        host == domain || (host.hasSuffix("." + domain) && !domain.isEmpty && !isNumeric(host))
    }

    /// Whether a path matches the path of a cookie (RFC 6265, 5.1.4).
    static func matches(path: String, _ own: String) -> Bool {
        path == own || (path.hasPrefix(own) && (own.hasSuffix("/") || path.dropFirst(own.count).hasPrefix("/")))
    }

    private static func folder(of target: String) -> String {
        let path = target.prefix { $0 != "?" }
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    static func domain(_ text: String) -> String {
        String(text.hasPrefix(".") ? text.dropFirst() : text[...]).lowercased()
    }

    private static func isNumeric(_ host: String) -> Bool {
        host.hasPrefix("[") || host.utf8.allSatisfy { (48...57).contains($0) || $0 == UInt8(ascii: ".") }
    }

    private static func isClean(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ";") }
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let start = text.drop { $0 == " " || $0 == "\t" }
        return String(String(start.reversed().drop { $0 == " " || $0 == "\t" }).reversed())
    }
}
