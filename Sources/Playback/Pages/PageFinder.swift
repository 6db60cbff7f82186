internal import MediaCore
internal import MediaFiles
internal import Storage

/// Finds the media of a web page with yt-dlp.
struct PageFinder {
    static let program = "yt-dlp"
    /// The maximum output of yt-dlp in bytes. The formats of a page take half a megabyte, a long playlist several.
    static let maxBytes = 8 << 20
    /// Timeout of a run of yt-dlp.
    static let timeout = Duration.seconds(60)
    /// The maximum nesting of playlists.
    private static let deepestList = 2

    let options: PageOptions
    let reading: ReadOptions
    let cancellation: Cancellation
    /// The path of yt-dlp; nil if it is not installed.
    let path: String?

    init(
        _ options: PageOptions, reading: ReadOptions, cancellation: Cancellation,
        path: String? = BoundedProgram.find(program)
    ) {
        (self.options, self.reading, self.cancellation, self.path) = (options, reading, cancellation, path)
    }

    /// Opens an address as media and, if it is none, as a web page. Blocks on the network.
    func open(_ address: String) throws(MediaError) -> any MediaSource {
        do throws(MediaError) {
            return try MediaFile.open(address, options: reading, cancellation: cancellation)
        } catch {
            guard options.isOn, Self.mayBePage(address, error) else { throw error }
            if PrintableText.hasUserInfo(address) {
                guard error.code == .notMedia else { throw error }
                throw MediaError(
                    .notMedia,
                    "\(name(address)) is not a film; yt-dlp is not used for addresses with a password; use the film's own address"
                )
            }
            guard path != nil else {
                guard error.code == .notMedia else { throw error }
                throw MediaError(
                    .notMedia,
                    "\(name(address)) is not a film; if it is a web page with a film, install yt-dlp"
                )
            }
            return try film(behind: address, depth: 0)
        }
    }

    private static func mayBePage(_ address: String, _ error: MediaError) -> Bool {
        let text = address.prefix(8).lowercased()
        guard text.hasPrefix("http://") || text.hasPrefix("https://") else { return false }
        // A server may refuse players what it offers to browsers. `unsupported` is media: also a manifest without
        // playable content, which occupies yt-dlp until its timeout.
        return [.notMedia, .notPermitted].contains(error.code)
    }

    private func film(behind page: String, depth: Int) throws(MediaError) -> any MediaSource {
        let listing = try listing(of: page)
        if let first = listing.entries.first {
            guard depth < Self.deepestList else {
                throw MediaError(
                    .limitExceeded, "\(name(page)) is a list of lists; use the address of one of its films")
            }
            if listing.entries.count > 1 { options.onList?(page, Array(listing.entries.dropFirst())) }
            return try film(behind: first.address, depth: depth + 1)
        }
        var inputs: [MediaFile] = []
        for stream in listing.streams { inputs.append(try open(stream, origin: inputs.first?.origin)) }
        // The audio starts before the video: both are counted from there.
        if inputs.count == 2, inputs[1].origin < inputs[0].origin {
            let origin = inputs[1].origin
            for (index, stream) in listing.streams.enumerated() { inputs[index] = try open(stream, origin: origin) }
        }
        return MultiInputSource(inputs, title: listing.title, chapters: listing.chapters)
    }

    private func open(_ stream: PageListing.Stream, origin: MediaTime?) throws(MediaError) -> MediaFile {
        var options = reading
        // Header fields meant for the page's server are not sent to the media's server.
        let named = Set(stream.fields.map { $0.name.lowercased() })
        options.headerFields =
            stream.fields + reading.headerFields.filter { !$0.isSecret && !named.contains($0.name.lowercased()) }
        options.cookies = reading.cookies ?? CookieJar()
        if let cookies = stream.cookies { options.cookies?.add(listed: cookies) }
        options.origin = origin
        return try MediaFile.open(stream.address, options: options, cancellation: cancellation)
    }

    private func listing(of page: String) throws(MediaError) -> PageListing {
        // A playlist may contain such addresses as well.
        guard !PrintableText.hasUserInfo(page) else {
            throw MediaError(.notMedia, "\(name(page)) has a password in it, which is not passed to yt-dlp")
        }
        let cookies = try options.rawOptions.last { $0.name == "cookies" }.flatMap(\.value)
            .map { (path) throws(MediaError) in try CookieFileCopy(of: path) }
        defer { withExtendedLifetime(cookies) {} }
        let outcome: BoundedProgram.Outcome
        do throws(BoundedProgram.Failure) {
            outcome = try BoundedProgram.run(
                path ?? "", arguments,
                input: Array(configuration(for: page, cookies: cookies.map { _ in CookieFileCopy.path }).utf8),
                file: cookies?.descriptor, maxBytes: Self.maxBytes, timeout: Self.timeout,
                isCancelled: { cancellation.isCancelled })
        } catch {
            switch error {
            case .cancelled: throw MediaError(.cancelled, "searching for the film of \(name(page)) was cancelled")
            case .tooSlow: throw MediaError(.timedOut, "yt-dlp timed out for \(name(page)); try again")
            case .tooLong:
                throw MediaError(
                    .limitExceeded, "yt-dlp prints too much for \(name(page)); use the address of one film")
            case .notStarted(let cause): throw MediaError(.exhausted, "yt-dlp cannot be started: \(cause)")
            }
        }
        if let listing = PageListing(outcome.output) { return listing }
        let why = Self.complaint(outcome.complaint).map { " (\($0))" } ?? ""
        throw MediaError(
            .notMedia,
            "\(name(page)) is not a film, and yt-dlp finds none on it\(why); check the address, or update yt-dlp")
    }

    /// The arguments of yt-dlp. They are visible to other users (`ps`) and therefore contain no user data.
    private var arguments: [String] {
        ["--no-warnings", "--dump-single-json", "--flat-playlist", "--no-progress", "--config-locations", "-"]
    }

    /// Returns the configuration that yt-dlp reads from standard input: options and an address, each a quoted word.
    ///
    /// - Parameter cookies: The path that replaces the user's cookie file.
    func configuration(for page: String, cookies: String?) -> String {
        var all = ["--format=\(options.format ?? "bestvideo+bestaudio/best")"]
        if !options.rawOptions.contains(where: { $0.name == "yes-playlist" }) { all.append("--no-playlist") }
        all += options.rawOptions.filter { $0.name != "cookies" }.map(\.argument)
        if let cookies { all.append("--cookies=\(cookies)") }
        // The address begins with http: and is not parsed as an option.
        return (all + [page]).map { ShellArgument.quoted($0) + "\n" }.joined()
    }

    /// Returns yt-dlp's first error line, shortened for a message.
    static func complaint(_ text: String) -> String? {
        // yt-dlp reports that it reads its configuration.
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("Reading ") }
        guard let line = lines.first(where: { $0.hasPrefix("ERROR:") }) ?? lines.last else { return nil }
        let message = PrintableText.of(String(line.drop { $0 != " " }.dropFirst().prefix(200)))
        // An address in the line may contain credentials.
        return message.split(separator: " ").map { PrintableText.withoutCredentials(String($0)) }.joined(separator: " ")
    }

    private func name(_ page: String) -> String { "\"\(PrintableText.withoutCredentials(page))\"" }
}
