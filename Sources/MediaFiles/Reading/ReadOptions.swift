/// How patient and how greedy reading is.
public struct ReadOptions: Sendable {
    /// Longest wait for a network address to become a film that can be played.
    public var openTimeout: Duration = .seconds(15)
    /// Longest wait for more bytes from the network, once it plays.
    public var readTimeout: Duration = .seconds(20)
    /// Sound put into one buffer, so that a few buffers and not hundreds of packets a second travel.
    public var audioBatch: Duration = .milliseconds(250)
    /// Bytes that a shared reader holds for a track that is read more slowly than the others.
    public var windowBytes: Int = 48 << 20
    /// Sent to web servers.
    public var userAgent = "Talkie"
    /// Whom to believe that a server is the one it says.
    public var trust = ServerTrust.system

    /// What is opened: films, or subtitles alone (`SubtitleFile`).
    enum Purpose { case film, subtitles }
    var purpose = Purpose.film

    public init() {}
}
