public import MediaCore

/// A cookie file in Netscape's format, as exported by browsers and yt-dlp.
///
/// Each line has seven fields separated by tabs: domain, whether subdomains match, path, secure, expiry, name, value.
public struct CookieFile: Sendable {
    /// The maximum size in bytes: all cookies of years of browsing.
    static let largest = 4 << 20
    private static let maxMistakes = 5

    let cookies: [CookieJar.Cookie]
    /// One sentence for each of the first malformed lines, without their content.
    public let mistakes: [String]

    /// Reads a file; blocks.
    ///
    /// - Throws: `cannotOpen`, `notPermitted`, `limitExceeded`, or `notMedia` if there are malformed lines and no
    ///   cookie.
    public init(reading path: String) throws(MediaError) {
        let bytes = try NamedFile.read(path, maxBytes: Self.largest, what: "cookies")
        self.init(bytes, name: path)
        if cookies.isEmpty, !mistakes.isEmpty {
            throw MediaError(
                .notMedia, "\"\(path)\" is not a cookie file in Netscape format; export it as cookies.txt")
        }
    }

    init(_ bytes: [UInt8], name: String) {
        var (cookies, mistakes, wrong) = ([CookieJar.Cookie](), [String](), 0)
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            do throws(ValueError) {
                if let cookie = try Self.cookie(line), cookies.count < CookieJar.maxCookies { cookies.append(cookie) }
            } catch {
                wrong += 1
                if wrong <= Self.maxMistakes {
                    mistakes.append("\(name) line \(index + 1): \(error.description); the line is skipped")
                }
            }
        }
        if wrong > Self.maxMistakes {
            mistakes.append("\(name): \(wrong - Self.maxMistakes) more lines are skipped")
        }
        (self.cookies, self.mistakes) = (cookies, mistakes)
    }

    /// Adds the cookies to a jar. Any thread.
    public func fill(_ jar: CookieJar) { for cookie in cookies { jar.add(cookie) } }

    private static func cookie(_ raw: ArraySlice<UInt8>) throws(ValueError) -> CookieJar.Cookie? {
        var line = raw
        if line.last == 0x0D { line = line.dropLast() }
        // Browsers mark HttpOnly cookies with a prefix that is a comment for other programs.
        let mark = Array("#HttpOnly_".utf8)
        if line.starts(with: mark) { line = line.dropFirst(mark.count) }
        guard let first = line.first, first != UInt8(ascii: "#") else { return nil }
        if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { return nil }
        guard line.count <= CookieJar.longestCookie * 2 else { throw ValueError("too long for a cookie") }
        let fields = line.split(separator: 0x09, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard fields.count == 7 else {
            throw ValueError("a cookie has seven fields separated by tabs, but this line has \(fields.count)")
        }
        guard let isWide = flag(fields[1]), let isSecure = flag(fields[3]) else {
            throw ValueError("the second and the fourth field must be TRUE or FALSE")
        }
        guard !fields[0].isEmpty, fields[2].hasPrefix("/") else {
            throw ValueError("the first field must be a domain and the third a path that begins with a slash")
        }
        // Some programs write fractions of a second, and −1 for session cookies.
        guard let expiry = Double(fields[4].isEmpty ? "0" : fields[4]), expiry.magnitude < 1e15 else {
            throw ValueError("the fifth field must be a number of seconds since 1970")
        }
        return CookieJar.Cookie(
            name: fields[5], value: fields[6], domain: CookieJar.domain(fields[0]), isHostOnly: !isWide,
            path: fields[2],
            isSecure: isSecure, expiry: expiry <= 0 ? nil : Int64(expiry))
    }

    private static func flag(_ text: String) -> Bool? {
        switch text.uppercased() {
        case "TRUE": true
        case "FALSE": false
        default: nil
        }
    }
}
