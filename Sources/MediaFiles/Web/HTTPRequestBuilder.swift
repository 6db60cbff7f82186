internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Builds the requests to the servers of one film and decides which server receives which secret.
///
/// Shared by the film's readers, each on its own thread.
final class HTTPRequestBuilder: Sendable {
    /// The user-provided address: secrets are for its server.
    let home: WebAddress?
    let trust: ServerTrust
    let cookies: CookieJar
    /// The playlists of the film.
    let playlists = FilmPlaylists()
    /// The delays before each reconnection attempt.
    let delays: [Duration]
    private let options: ReadOptions
    private let count = Lock<UInt32>(0)

    /// More than a minute in total: `ReadOptions.readTimeout` ends the attempts earlier.
    static let usualDelays: [Duration] =
        [.zero, .milliseconds(500), .seconds(1), .seconds(2)] + Array(repeating: .seconds(4), count: 15)

    /// The silence after which a connection is replaced.
    var maxSilence: Duration { options.maxSilence }

    // MARK: Shared cache

    private struct Shared {
        var url = ""
        weak var cache: WebCache?
    }
    private let shared = Lock(Shared())

    /// Returns the cache of an address that a reader of the film is reading; nil if there is none. Any thread.
    func cache(of url: String) -> WebCache? { shared.withLock { $0.url == url ? $0.cache : nil } }

    func share(_ cache: WebCache, of url: String) { shared.withLock { $0 = Shared(url: url, cache: cache) } }

    // MARK: Lost servers

    /// The host names of servers that readers reconnect to; one per reader.
    private let lostServers = Lock<[String]>([])

    /// The host name of a server whose connection was lost and is being re-established; nil if there is none. Any
    /// thread.
    var lostServer: String? { lostServers.withLock { $0.first } }
    func noteLost(_ host: String) { lostServers.withLock { $0.append(host) } }

    func noteFound(_ host: String) {
        lostServers.withLock { hosts in
            if let index = hosts.firstIndex(of: host) { hosts.remove(at: index) }
        }
    }

    init(_ url: String, _ options: ReadOptions) {
        home = WebAddress(url)
        trust = options.trust
        cookies = options.cookies ?? CookieJar()
        delays = options.reconnectDelays
        self.options = options
    }

    /// The requested variant of a film with several.
    var bitrate: ReadOptions.HLSBitrate { options.hlsBitrate }

    /// Returns name and password for a server: those of its address, or for the home server the user's.
    func credentials(for address: WebAddress) -> String? {
        address.credentials ?? (home?.isHome(of: address) == true ? home?.credentials : nil)
    }

    /// Connects to a server; blocks.
    ///
    /// - Throws: A libavutil error; EPERM if the certificate was refused.
    func connect(_ address: WebAddress, _ waiting: InterruptCallback) throws(WebFailure) -> any WebConnection {
        if let connect = options.connect { return try connect(address, waiting) }
        return try NetworkConnection(address, trust, waiting)
    }

    func report(_ sentence: String) { options.onTrouble?(sentence) }

    /// Returns the text of a GET request.
    ///
    /// - Parameters:
    ///   - challenge: The server's authentication challenge, to be answered with name and password.
    ///   - isProxied: Whether the request is sent to a proxy.
    ///   - keepsConnection: Whether the server may keep the connection open after its response.
    func request(
        for address: WebAddress, from first: Int64, to last: Int64?, validator: String?, challenge: String?,
        isProxied: Bool, keepsConnection: Bool = false
    ) -> String {
        var lines = ["GET \(isProxied ? address.text : address.target) HTTP/1.1", "Host: \(address.authority)"]
        let isHome = home?.isHome(of: address) ?? false
        let fields = options.headerFields.filter { isHome || !$0.isSecret }
        func add(_ name: String, _ value: String?) {
            guard let value, !fields.contains(where: { $0.name.lowercased() == name.lowercased() }),
                // ignored: an invalid value is not sent.
                let field = try? HeaderField(name: name, value: value)
            else { return }
            lines.append("\(field.name): \(field.value)")
        }
        add("User-Agent", options.userAgent)
        add("Accept", "*/*")
        // An https referrer is not sent over an insecure connection (RFC 9110, 10.1.3).
        if address.isSecure || options.referrer?.lowercased().hasPrefix("https:") != true {
            add("Referer", options.referrer)
        }
        add("Cookie", cookies.line(for: address))
        if let credentials = credentials(for: address), let challenge {
            add("Authorization", authorization(credentials, challenge, address.target))
        }
        lines.append("Range: bytes=\(first)-\(last.map { String($0 - 1) } ?? "")")
        if let validator, !validator.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            lines.append("If-Range: \(validator)")
        }
        for field in fields { lines.append("\(field.name): \(field.value)") }
        if !keepsConnection { lines.append("Connection: close") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    // MARK: Authentication

    /// Whether a challenge is supported.
    func answers(_ challenge: String) -> Bool {
        let text = challenge.lowercased()
        return text.hasPrefix("basic")
            || (text.hasPrefix("digest ") && Self.parameters(challenge)["algorithm"]?.lowercased() ?? "md5" == "md5")
    }

    private func authorization(_ credentials: String, _ challenge: String, _ target: String) -> String {
        guard challenge.lowercased().hasPrefix("digest ") else {
            return "Basic " + Self.base64(Array(credentials.utf8))
        }
        // RFC 7616, 3.4.
        let given = Self.parameters(challenge)
        let parts = credentials.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let (name, secret) = (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
        let (realm, nonce) = (given["realm"] ?? "", given["nonce"] ?? "")
        let number = count.withLock { count in
            count &+= 1
            return count
        }
        let times = String(String(UInt64(0x1_0000_0000) + UInt64(number), radix: 16).dropFirst())
        let own = String(UInt64.random(in: .min ... .max), radix: 16)
        let (first, second) = (Self.md5("\(name):\(realm):\(secret)"), Self.md5("GET:\(target)"))
        let isCounted = given["qop"]?.lowercased().contains("auth") ?? false
        let response = Self.md5(
            isCounted ? "\(first):\(nonce):\(times):\(own):auth:\(second)" : "\(first):\(nonce):\(second)")
        let safe = name.replacing("\"")
        var text =
            "Digest username=\"\(safe)\", realm=\"\(realm)\", nonce=\"\(nonce)\", uri=\"\(target)\", response=\"\(response)\""
        if let opaque = given["opaque"] { text += ", opaque=\"\(opaque)\"" }
        if isCounted { text += ", qop=auth, nc=\(times), cnonce=\"\(own)\"" }
        return text
    }

    private static func parameters(_ challenge: String) -> [String: String] {
        var (all, name, value) = ([String: String](), "", "")
        var (isValue, isQuoted) = (false, false)
        func close() { if !name.isEmpty { all[name.lowercased()] = value } }
        for character in challenge.drop(while: { $0 != " " }).dropFirst().prefix(4096) {
            switch character {
            case "\"" where isValue: isQuoted.toggle()
            case "=" where !isValue: isValue = true
            case "," where !isQuoted:
                close()
                (name, value, isValue) = ("", "", false)
            case " " where !isQuoted: break
            default: if isValue { value.append(character) } else { name.append(character) }
            }
        }
        close()
        return all
    }

    private static func md5(_ text: String) -> String {
        var digest = [UInt8](repeating: 0, count: 16)
        let bytes = Array(text.utf8)
        av_md5_sum(&digest, bytes, bytes.count)
        return Hexadecimal.text(digest).lowercased()
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: (bytes.count + 2) / 3 * 4 + 1) { buffer in
            guard av_base64_encode(buffer.baseAddress, Int32(buffer.count), bytes, Int32(bytes.count)) != nil else {
                return ""
            }
            return String(cString: buffer.baseAddress!)
        }
    }
}

extension String {
    /// Removes a character that would end a quoted string.
    fileprivate func replacing(_ letter: Character) -> String { String(filter { $0 != letter }) }
}
