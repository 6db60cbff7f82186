package import MediaCore

/// How media of web pages is found: by yt-dlp, if it is on the search path. Names are mpv's.
public struct PageOptions: Sendable {
    /// Whether yt-dlp is used.
    public var isOn = true
    /// The format selection in yt-dlp's syntax; nil: the best video with the best audio.
    public var format: String?
    /// Further options of yt-dlp: `--name` or `--name=value`.
    package var rawOptions: [RawOption] = []
    /// Called on the opening thread if a page is a playlist, with the items after the first.
    public var onList: (@Sendable (_ page: String, _ films: [(address: String, title: String?)]) -> Void)?

    /// An option of yt-dlp.
    public struct RawOption: Sendable, Hashable {
        /// The name without dashes.
        public let name: String
        /// The value; nil for a flag.
        public let value: String?
        /// The argument as one word, so that no value is parsed as another option.
        var argument: String { value.map { "--\(name)=\($0)" } ?? "--\(name)" }
    }

    /// Creates the default options.
    public init() {}

    /// Parses `name=value,name2=,name3`, as in mpv. Options outside the permitted ones are refused.
    package static func rawOptions(parsing text: String) throws(ValueError) -> [RawOption] {
        var all: [RawOption] = []
        for part in text.split(separator: ",") {
            let keyAndValue = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(keyAndValue[0])
            let isName = name.utf8.allSatisfy {
                (97...122).contains($0) || (65...90).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-")
            }
            guard !name.isEmpty, !name.hasPrefix("-"), isName else {
                throw ValueError("options of yt-dlp have the form name=value,name=, without dashes")
            }
            let value = keyAndValue.count > 1 ? String(keyAndValue[1]) : nil
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
        guard all.count <= 64 else { throw ValueError("there are more than 64 options") }
        return all
    }

    // The permitted options of yt-dlp (its README, "Usage and options"; those of 2023.03.04 and 2026.10.26 were
    // compared). They neither run a program, nor name a file to be written, nor read further options. All others are
    // refused by name, because yt-dlp completes abbreviated names. exec, netrc-cmd and downloader run programs; output,
    // paths, print-to-file, write-* and cache-dir write files; config-locations, alias, plugin-dirs and load-info-json
    // change what runs. The file of `cookies` is replaced with a private copy.

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
