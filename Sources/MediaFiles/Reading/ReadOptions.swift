package import MediaCore

/// How patient and how greedy reading is, and what servers are told of who reads.
public struct ReadOptions: Sendable {
    /// Longest wait for a network address to become a film that can be played.
    public var openTimeout: Duration = .seconds(15)
    /// Longest wait for more bytes from the network, once it plays; mpv's `--network-timeout`. A server that is away is asked again
    /// until then.
    public var readTimeout: Duration = .seconds(60)
    /// A connection that sends nothing for so long is replaced by another, where the server can continue inside a file: no packet says
    /// that a router has forgotten it.
    var maxSilence: Duration = .seconds(10)
    /// Sound put into one buffer, so that a few buffers and not hundreds of packets a second travel.
    public var audioBatch: Duration = .milliseconds(250)
    /// Bytes that a shared reader holds for a track that is read more slowly than the others.
    public var windowBytes: Int = 48 << 20
    /// The longest pause in the timestamps of a film; at least a second. A longer one across all tracks that are read is a
    /// discontinuity: the film continues without the pause.
    public var maxGap: Duration = .seconds(30)
    /// Sent to web servers.
    public var userAgent = "Talkie"
    /// The page that servers are told a film was found on.
    public var referrer: String?
    /// Further lines of each request. Those that may be permissions go to the server that a film's address names, and to no other.
    public var headerFields: [HeaderField] = []
    /// What servers have given to be shown again; nil gives each film a jar of its own.
    public var cookies: CookieJar?
    /// Told, on a thread that reads, when a server has been away for a second: one sentence, without anything secret.
    public var onTrouble: (@Sendable (String) -> Void)?
    /// How long is waited before each try to take up what broke off.
    var reconnectDelays = WebAsker.usualDelays
    /// Whom to believe that a server is the one it says.
    public var trust = ServerTrust.system

    /// In whose stamps film time begins, where a film is of several inputs that count alike; nil is this input's own.
    package var origin: MediaTime?

    /// Which quality of an HLS film is played unless another track is chosen.
    public enum HLSBitrate: Sendable, Hashable {
        /// The one that the playlist names first.
        case first
        case lowest, highest
        /// The highest of at most so many bits a second; the lowest where there is none.
        case most(Int64)
    }
    public var hlsBitrate = HLSBitrate.highest

    /// What is opened: films, or subtitles alone (`SubtitleFile`).
    enum Purpose { case film, subtitles }
    var purpose = Purpose.film

    public init() {}
}
