public import MediaCore

/// How films that lie behind web pages are found: by yt-dlp, where it is on the search path. The words are mpv's.
public struct PageOptions: Sendable {
    /// Whether it is asked at all.
    public var isOn = true
    /// Which of a page's qualities, in yt-dlp's words; nil is the best picture with the best sound.
    public var format: String?
    /// Further words for it: `--name` or `--name=value`.
    public var rawOptions: [RawOption] = []
    /// Told, on the thread that opens, when a page is a list: the films behind the first.
    public var onList: (@Sendable (_ page: String, _ films: [(address: String, title: String?)]) -> Void)?

    public struct RawOption: Sendable, Hashable {
        public var name: String
        /// Nil or empty is a word without a value.
        public var value: String?
        /// As it is given to the program.
        var words: [String] { value.map { $0.isEmpty ? ["--\(name)"] : ["--\(name)", $0] } ?? ["--\(name)"] }
    }

    public init() {}

    /// `name=value,name2=,name3`, as mpv has it.
    public static func rawOptions(parsing text: String) throws(ValueError) -> [RawOption] {
        var all: [RawOption] = []
        for part in text.split(separator: ",") {
            let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(words[0])
            let isName = name.utf8.allSatisfy {
                (97...122).contains($0) || (65...90).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-")
            }
            guard !name.isEmpty, !name.hasPrefix("-"), isName else {
                throw ValueError("options of yt-dlp are written name=value,name=, without their dashes")
            }
            guard Self.allowed.contains(name) else {
                throw ValueError("--\(name) is no option of yt-dlp that a player hands on")
            }
            all.append(RawOption(name: name, value: words.count > 1 ? String(words[1]) : nil))
        }
        guard all.count <= 64 else { throw ValueError("these are more than 64 options") }
        return all
    }

    /// Of its options those that say who asks and what for: others run programs, write files, or read more options. It completes
    /// shortened names itself, so that what is not named here is refused.
    private static let allowed: Set<String> = [
        "add-header", "add-headers", "age-limit", "ap-mso", "ap-password", "ap-username", "client-certificate",
        "client-certificate-key", "client-certificate-password", "cookies", "cookies-from-browser", "default-search",
        "extractor-args", "extractor-retries", "force-ipv4", "force-ipv6", "format-sort", "format-sort-force",
        "geo-bypass", "geo-bypass-country", "geo-bypass-ip-block", "geo-verification-proxy", "ignore-config",
        "ignore-errors", "impersonate", "legacy-server-connect", "live-from-start", "mark-watched", "netrc",
        "netrc-location", "no-cache-dir", "no-check-certificates", "no-cookies", "no-geo-bypass", "no-playlist",
        "password", "playlist-end", "playlist-items", "playlist-random", "playlist-reverse", "playlist-start",
        "prefer-free-formats", "proxy", "referer", "retries", "sleep-requests", "socket-timeout", "source-address",
        "twofactor", "user-agent", "username", "video-password", "xff", "yes-playlist",
    ]
}
