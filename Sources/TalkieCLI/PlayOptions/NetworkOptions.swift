internal import ArgumentParser
internal import MediaCore
internal import MediaFiles
internal import Playback
internal import TalkieApp

/// Options for films from servers.
struct NetworkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Whether https servers must prove who they are.", valueName: "yes|no"),
        completion: .list(["yes", "no"]),
        transform: wordChoice("--tls-verify takes yes or no"))
    var tlsVerify: Answer = .yes

    @Option(
        help: ArgumentHelp("Believe the authorities of this PEM file, too.", valueName: "FILE"), completion: .file())
    var tlsCaFile: String?

    @Option(help: ArgumentHelp("What web servers are told of this program.", valueName: "TEXT"), transform: Self.line)
    var userAgent: String?

    @Option(
        help: ArgumentHelp("The page that web servers are told a film was found on.", valueName: "URL"),
        transform: Self.line)
    var referrer: String?

    @Option(
        help: ArgumentHelp(
            "Further lines of each request, for the server of the film's address; \\, is a comma.",
            valueName: "NAME: VALUE,..."),
        transform: { try HeaderField.list(parsing: $0) })
    var httpHeaderFields: [HeaderField] = []

    @Option(
        help: ArgumentHelp("One more of them; may be given several times.", valueName: "NAME: VALUE"),
        transform: { try HeaderField(parsing: $0) })
    var httpHeaderFieldsAppend: [HeaderField] = []

    @Flag(inversion: .prefixedNo, exclusivity: .chooseLast, help: "Whether films share the cookies that servers set.")
    var cookies: Bool?

    @Option(
        help: ArgumentHelp("Show servers these cookies, a file in Netscape's format.", valueName: "FILE"),
        completion: .file())
    var cookiesFile: String?

    @Option(
        help: ArgumentHelp("Give up on a server that sends nothing for so long.", valueName: "SECONDS"),
        transform: Self.patience)
    var networkTimeout: Duration?

    @Option(
        help: ArgumentHelp(
            "Which quality of an HLS film is played first; no takes the first.", valueName: "max|min|no|BITS"),
        transform: Self.bitrate)
    var hlsBitrate: ReadOptions.HLSBitrate = .highest

    @Flag(
        inversion: .prefixedNo, exclusivity: .chooseLast,
        help: "Whether yt-dlp, where it is installed, looks for the films of web pages.")
    var ytdl = true

    @Option(help: ArgumentHelp("Which quality it chooses, in its words.", valueName: "FORMAT"), transform: Self.line)
    var ytdlFormat: String?

    @Option(
        help: ArgumentHelp("Further options for it, without their dashes.", valueName: "NAME=VALUE,..."),
        transform: { try PageOptions.rawOptions(parsing: $0) })
    var ytdlRawOptions: [PageOptions.RawOption] = []

    enum Answer: String {
        case yes = "yes"
        case no = "no"
    }

    private static func line(_ text: String) throws(ValueError) -> String {
        try HeaderField(name: "X", value: text).value
    }

    private static func bitrate(_ text: String) throws(ValueError) -> ReadOptions.HLSBitrate {
        switch text {
        case "max": return .highest
        case "min": return .lowest
        case "no": return .first
        default:
            guard let bits = DecimalNumber.whole(text), bits > 0 else {
                throw ValueError("a quality is max, min, no, or a number of bits a second")
            }
            return .most(Int64(bits))
        }
    }

    private static func patience(_ text: String) throws(ValueError) -> Duration {
        guard let seconds = DecimalNumber.parse(text), (1...86_400).contains(seconds) else {
            throw ValueError("a server is waited for 1 to 86400 seconds")
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
        arguments.options.reading.hlsBitrate = hlsBitrate
        arguments.options.pages.isOn = ytdl
        arguments.options.pages.format = ytdlFormat
        arguments.options.pages.rawOptions = ytdlRawOptions
        // Given cookies are meant to be used: the file implies sharing.
        arguments.sharesCookies = cookies ?? (cookiesFile != nil)
        arguments.cookieFile = cookies == false ? nil : cookiesFile
    }
}
