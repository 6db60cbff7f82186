internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// What is told to the servers of one film: who asks, what for, and which of it to whom.
///
/// A film's readers share it, each on its thread.
final class WebAsker: Sendable {
    /// Where the person's own words lead: what is secret is for this server.
    let home: WebAddress?
    let trust: ServerTrust
    let cookies: CookieJar
    /// What the film's playlists said.
    let playlists = FilmPlaylists()
    /// How long is waited before each try to take up what broke off.
    let delays: [Duration]
    private let options: ReadOptions
    private let count = Lock<UInt32>(0)

    /// More than a minute together: what ends the attempts is `ReadOptions.readTimeout`.
    static let usualDelays: [Duration] =
        [.zero, .milliseconds(500), .seconds(1), .seconds(2)] + Array(repeating: .seconds(4), count: 15)

    /// A connection that sends nothing for so long is replaced.
    var maxSilence: Duration { options.maxSilence }

    // MARK: Bytes that readers share

    private struct Shared {
        var url = ""
        weak var cache: WebCache?
    }
    private let shared = Lock(Shared())

    /// The bytes of an address that a reader of the film reads now.
    func cache(of url: String) -> WebCache? { shared.withLock { $0.url == url ? $0.cache : nil } }

    func share(_ cache: WebCache, of url: String) { shared.withLock { $0 = Shared(url: url, cache: cache) } }

    // MARK: Lost servers

    /// The host names of servers that readers try to reach again; one for each reader.
    private let lostServers = Lock<[String]>([])

    /// One of the servers whose connection broke off and is being reopened.
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

    /// Which quality of a film in several is wanted.
    var bitrate: ReadOptions.HLSBitrate { options.hlsBitrate }

    /// The name and password for a server: its address's own, and at home the person's.
    func credentials(for address: WebAddress) -> String? {
        address.credentials ?? (home?.isHome(of: address) == true ? home?.credentials : nil)
    }

    func tell(_ sentence: String) { options.onTrouble?(sentence) }

    /// - Parameters:
    ///   - challenge: what a server wants to be answered with the address's name and password.
    ///   - isProxied: the request goes to a proxy.
    func request(
        for address: WebAddress, from first: Int64, to last: Int64?, validator: String?, challenge: String?,
        isProxied: Bool
    ) -> String {
        var lines = ["GET \(isProxied ? address.text : address.target) HTTP/1.1", "Host: \(address.authority)"]
        let isHome = home?.isHome(of: address) ?? false
        let fields = options.headerFields.filter { isHome || !$0.isSecret }
        func add(_ name: String, _ value: String?) {
            guard let value, !fields.contains(where: { $0.name.lowercased() == name.lowercased() }),
                // ignored: a value that no header may hold is not sent.
                let field = try? HeaderField(name: name, value: value)
            else { return }
            lines.append("\(field.name): \(field.value)")
        }
        add("User-Agent", options.userAgent)
        add("Accept", "*/*")
        // A page that was got safely is not named where others listen (RFC 9110, 10.1.3).
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
        lines.append("Connection: close")
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    // MARK: Name and password

    /// Whether a challenge can be answered.
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
    /// Without a letter that would end a quoted text.
    fileprivate func replacing(_ letter: Character) -> String { String(filter { $0 != letter }) }
}
