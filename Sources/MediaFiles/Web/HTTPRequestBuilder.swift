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
    /// How far the film is read ahead.
    let readAhead: ReadAhead
    /// The segments fetched ahead.
    let segments: SegmentReadAhead
    /// The delays before each reconnection attempt.
    let delays: [Duration]
    private let options: ReadOptions
    /// The number of requests with credentials.
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

    /// Starts reading ahead.
    func startReadingAhead() {
        readAhead.start()
        shared.withLock { $0.cache }?.readAhead()
    }

    /// How far the film was read ahead of its readers; nil if it is not read ahead.
    var progress: ReadAheadProgress? {
        guard readAhead.distance > 0 else { return nil }
        // The address of an HLS film is that of its playlist.
        if let progress = segments.progress { return progress }
        guard let cache = shared.withLock({ $0.cache }) else { return nil }
        let bytes = cache.bytesAhead
        return ReadAheadProgress(byteCount: Int(clamping: bytes), duration: readAhead.duration(of: bytes))
    }

    // MARK: Lost servers

    /// The host names of servers that readers reconnect to; one per reader.
    private let lostServers = Lock<[String]>([])

    /// The host name of a server whose connection was lost and is being re-established; nil if there is none. Any
    /// thread.
    var lostServer: String? { lostServers.withLock { $0.first } }
    func recordLost(_ host: String) { lostServers.withLock { $0.append(host) } }

    func recordFound(_ host: String) {
        lostServers.withLock { hosts in
            if let index = hosts.firstIndex(of: host) { hosts.remove(at: index) }
        }
    }

    init(_ url: String, _ options: ReadOptions) {
        home = WebAddress(url)
        trust = options.trust
        cookies = options.cookies ?? CookieJar()
        delays = options.reconnectDelays
        readAhead = ReadAhead(options)
        segments = SegmentReadAhead(readAhead)
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
        for address: WebAddress, from first: Int64, to last: Int64?, validator: String?,
        challenge: AuthenticationChallenge?, isProxied: Bool, keepsConnection: Bool = false
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
        add("Cookie", cookies.header(for: address))
        if let credentials = credentials(for: address), let challenge {
            let number = count.withLock { count in
                count &+= 1
                return count
            }
            add("Authorization", challenge.response(credentials, target: address.target, number: number))
        }
        lines.append("Range: bytes=\(first)-\(last.map { String($0 - 1) } ?? "")")
        if let validator, !validator.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            lines.append("If-Range: \(validator)")
        }
        for field in fields { lines.append("\(field.name): \(field.value)") }
        if !keepsConnection { lines.append("Connection: close") }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }
}
