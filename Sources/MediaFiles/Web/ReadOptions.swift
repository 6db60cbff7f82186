package import MediaCore

/// Timeouts, limits and HTTP settings of reading.
public struct ReadOptions: Sendable {
    /// The timeout for opening a network address.
    public var openTimeout: Duration = .seconds(15)
    /// The timeout for data from the network during playback; mpv's `--network-timeout`. A lost server is retried until
    /// then.
    public var readTimeout: Duration = .seconds(60)
    /// The silence after which a connection is replaced, if the server supports ranges. No packet reports that a router
    /// dropped the connection from its table.
    var maxSilence: Duration = .seconds(10)
    /// Creates the connections to web servers; nil: `NetworkConnection`.
    var connect: WebCache.Connect?
    /// The audio duration per buffer, which replaces hundreds of packets per second by a few buffers.
    public var audioBatch: Duration = .milliseconds(250)
    /// The maximum number of bytes that a shared reader buffers for a track that is read more slowly than others.
    public var windowBytes: Int = 48 << 20
    /// The maximum number of bytes of a film from a server that are kept in memory, most of them ahead of its readers;
    /// mpv's `--demuxer-max-bytes`. At least 1 MiB. Other inputs are not read ahead.
    public var readAheadBytes: Int = 150 << 20
    /// The maximum duration that a film from a server is read ahead, if its bit rate is known; zero turns reading ahead
    /// off; mpv's `--cache-secs`.
    public var readAheadTime: Duration = .seconds(3_600_000)
    /// The longest accepted pause in the timestamps of a film; at least one second. A longer pause across all selected
    /// tracks is a discontinuity: the film continues without the pause.
    public var maxGap: Duration = .seconds(30)
    /// The `User-Agent` sent to web servers.
    public var userAgent = "Talkie"
    /// The `Referer` sent to web servers; nil: none.
    public var referrer: String?
    /// Further header fields of each request. Fields that may be credentials are sent only to the server of the film's
    /// address.
    public var headerFields: [HeaderField] = []
    /// The cookies of servers; nil: each film has its own jar.
    public var cookies: CookieJar?
    /// Called on a reading thread once a server has been unreachable for a second: one sentence without secrets.
    public var onTrouble: (@Sendable (String) -> Void)?
    /// The delays before each reconnection attempt.
    var reconnectDelays = HTTPRequestBuilder.usualDelays
    /// The certificate verification of servers.
    public var trust = ServerTrust.system

    /// The start of film time, for a film of several inputs with the same time origin; nil: this input's own.
    package var origin: MediaTime?

    /// The HLS variant that is played unless another track is selected.
    public enum HLSBitrate: Sendable, Hashable {
        /// The first variant of the playlist.
        case first
        /// The variant with the lowest or the highest bit rate.
        case lowest, highest
        /// The highest bit rate up to a limit in bits per second; the lowest if there is none.
        case max(Int64)
    }
    /// The HLS variant to play.
    public var hlsBitrate = HLSBitrate.highest

    /// Whether the address comes from a playlist or another program: of local files only regular ones are opened.
    package var opensRegularFilesOnly = false

    /// What is opened: films, or subtitle files (`SubtitleFile`).
    enum Purpose { case film, subtitles }
    var purpose = Purpose.film

    /// Creates options with default values.
    public init() {}
}
