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
        public let name: String
        /// Nil for a flag.
        public let value: String?
        /// One word, so that no value is read as an option of its own.
        var word: String { value.map { "--\(name)=\($0)" } ?? "--\(name)" }
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
            let value = words.count > 1 ? String(words[1]) : nil
            if Self.flags.contains(name) {
                guard value?.isEmpty ?? true else {
                    throw ValueError("--\(name) of yt-dlp takes no value; write \(name)=")
                }
                all.append(RawOption(name: name, value: nil))
            } else {
                guard Self.valued.contains(name) else {
                    throw ValueError(
                        "--\(name) is not passed to yt-dlp; options that run programs, write files or read more options are refused"
                    )
                }
                guard let value else { throw ValueError("--\(name) of yt-dlp needs a value; write \(name)=VALUE") }
                guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                    throw ValueError("the value of --\(name) contains a control character")
                }
                all.append(RawOption(name: name, value: value))
            }
        }
        guard all.count <= 64 else { throw ValueError("these are more than 64 options") }
        return all
    }

    // Options of yt-dlp (its README, "Usage and options"; those of 2023.03.04 and 2026.10.26 were compared) that neither run a program, nor name a file to be written, nor read
    // further options. Everything else is refused by name, because yt-dlp completes shortened names: exec, netrc-cmd and downloader
    // run programs; output, paths, print-to-file, write-* and cache-dir write files; config-locations, alias, plugin-dirs and
    // load-info-json change what runs. The file of `cookies` is replaced with a private copy.

    private static let flags: Set<String> = [
        "force-ipv4", "force-ipv6", "format-sort-force", "geo-bypass", "ignore-config", "ignore-errors",
        "legacy-server-connect", "live-from-start", "mark-watched", "netrc", "no-cache-dir", "no-check-certificates",
        "no-cookies", "no-geo-bypass", "no-playlist", "playlist-random", "playlist-reverse", "prefer-free-formats",
        "yes-playlist",
    ]

    private static let valued: Set<String> = [
        "add-header", "add-headers", "age-limit", "ap-mso", "ap-password", "ap-username", "client-certificate",
        "client-certificate-key", "client-certificate-password", "cookies", "cookies-from-browser", "default-search",
        "extractor-args", "extractor-retries", "format-sort", "geo-bypass-country", "geo-bypass-ip-block",
        "geo-verification-proxy", "impersonate", "netrc-location", "password", "playlist-end", "playlist-items",
        "playlist-start", "proxy", "referer", "retries", "sleep-requests", "socket-timeout", "source-address",
        "twofactor", "user-agent", "username", "video-password", "xff",
    ]
}
