internal import ArgumentParser
internal import MediaCore
internal import MediaFiles
internal import Playback
internal import TalkieApp

/// Options for films from servers.
struct NetworkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Whether to check the certificates of https servers.", valueName: "yes|no"),
        completion: .list(["yes", "no"]),
        transform: valueChoice("--tls-verify must be yes or no"))
    var tlsVerify: Answer = .yes

    @Option(
        help: ArgumentHelp("Also trust the authorities in this PEM file.", valueName: "FILE"), completion: .file())
    var tlsCaFile: String?

    @Option(help: ArgumentHelp("User agent sent to web servers.", valueName: "TEXT"), transform: Self.headerLine)
    var userAgent: String?

    @Option(
        help: ArgumentHelp("Referrer sent to web servers.", valueName: "URL"),
        transform: Self.headerLine)
    var referrer: String?

    @Option(
        help: ArgumentHelp(
            "Additional request header fields for the server of the film's address; \\, is a comma.",
            valueName: "NAME: VALUE,..."),
        transform: { try HeaderField.list(parsing: $0) })
    var httpHeaderFields: [HeaderField] = []

    @Option(
        help: ArgumentHelp("One more header field; may be given several times.", valueName: "NAME: VALUE"),
        transform: { try HeaderField(parsing: $0) })
    var httpHeaderFieldsAppend: [HeaderField] = []

    @Flag(
        inversion: .prefixedNo, exclusivity: .chooseLast,
        help: "Whether cookies set by servers are shared between films.")
    var cookies: Bool?

    @Option(
        help: ArgumentHelp("Send cookies of this file in Netscape format.", valueName: "FILE"),
        completion: .file())
    var cookiesFile: String?

    @Option(
        help: ArgumentHelp("Network timeout without data from a server.", valueName: "SECONDS"),
        transform: Self.timeout)
    var networkTimeout: Duration?

    @Option(
        help: ArgumentHelp("Memory for reading ahead from a server (150MiB).", valueName: "SIZE"),
        transform: Self.memory)
    var demuxerMaxBytes: Int?

    @Option(
        help: ArgumentHelp("Maximum time to read ahead from a server; 0: not at all.", valueName: "SECONDS"),
        transform: Self.readAheadTime)
    var cacheSecs: Duration?

    @Option(
        help: ArgumentHelp(
            "Initial quality of HLS films; no: the first one listed.", valueName: "max|min|no|BITS"),
        transform: Self.bitrate)
    var hlsBitrate: ReadOptions.HLSBitrate = .highest

    @Flag(
        inversion: .prefixedNo, exclusivity: .chooseLast,
        help: "Whether to use yt-dlp, if installed, to find films on web pages.")
    var ytdl = true

    @Option(help: ArgumentHelp("Format selection of yt-dlp.", valueName: "FORMAT"), transform: Self.headerLine)
    var ytdlFormat: String?

    @Option(
        help: ArgumentHelp("Further options of yt-dlp, without dashes.", valueName: "NAME=VALUE,..."),
        transform: { try PageOptions.rawOptions(parsing: $0) })
    var ytdlRawOptions: [PageOptions.RawOption] = []

    enum Answer: String {
        case yes = "yes"
        case no = "no"
    }

    private static func headerLine(_ text: String) throws(ValueError) -> String {
        try HeaderField(name: "X", value: text).value
    }

    private static func bitrate(_ text: String) throws(ValueError) -> ReadOptions.HLSBitrate {
        switch text {
        case "max": return .highest
        case "min": return .lowest
        case "no": return .first
        default:
            guard let bits = DecimalNumber.integer(text), bits > 0 else {
                throw ValueError("the quality must be max, min, no, or a number of bits per second")
            }
            return .max(Int64(bits))
        }
    }

    private static func timeout(_ text: String) throws(ValueError) -> Duration {
        guard let seconds = DecimalNumber.parse(text), (1...86_400).contains(seconds) else {
            throw ValueError("the timeout must be 1 to 86400 seconds")
        }
        return .seconds(seconds)
    }

    private static func memory(_ text: String) throws(ValueError) -> Int {
        guard let size = ByteSize.parse(text), (1 << 20...1 << 40).contains(size) else {
            throw ValueError("the memory must have the form 150MiB, from 1MiB to 1TiB")
        }
        return size
    }

    private static func readAheadTime(_ text: String) throws(ValueError) -> Duration {
        guard let seconds = DecimalNumber.parse(text), (0...3_600_000).contains(seconds) else {
            throw ValueError("the time to read ahead must be 0 to 3600000 seconds")
        }
        return .seconds(seconds)
    }

    func apply(to arguments: inout PlayArguments) {
        arguments.verifiesServers = tlsVerify == .yes
        arguments.authorityFile = tlsCaFile
        arguments.options.reading.userAgent = userAgent ?? arguments.options.reading.userAgent
        arguments.options.reading.referrer = referrer
        arguments.options.reading.headerFields = httpHeaderFields + httpHeaderFieldsAppend
        if let networkTimeout {
            arguments.options.reading.openTimeout = networkTimeout
            arguments.options.reading.readTimeout = networkTimeout
        }
        let reading = arguments.options.reading
        arguments.options.reading.readAheadBytes = demuxerMaxBytes ?? reading.readAheadBytes
        arguments.options.reading.readAheadTime = cacheSecs ?? reading.readAheadTime
        arguments.options.reading.hlsBitrate = hlsBitrate
        arguments.options.pages.isOn = ytdl
        arguments.options.pages.format = ytdlFormat
        arguments.options.pages.rawOptions = ytdlRawOptions
        // Given cookies are meant to be used: the file implies sharing.
        arguments.sharesCookies = cookies ?? (cookiesFile != nil)
        arguments.cookieFile = cookies == false ? nil : cookiesFile
    }
}
