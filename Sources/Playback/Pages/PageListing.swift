internal import MediaCore
internal import MediaFiles

/// The output of yt-dlp for a page (`--dump-single-json`). It derives from web data and is untrusted: only addresses of
/// web servers are accepted.
struct PageListing: Sendable {
    /// An input of the media.
    struct Stream: Sendable {
        var address: String
        var fields: [HeaderField] = []
        /// In the form of Set-Cookie values, concatenated.
        var cookies: String?
    }

    var title: String?
    /// One input, or video followed by audio.
    var streams: [Stream] = []
    var chapters: [Chapter] = []
    /// The items of a playlist in order.
    var entries: [(address: String, title: String?)] = []

    static let maxEntries = 10_000
    private static let maxChapters = 1000
    private static let longestTitle = 1000

    /// Parses the output; nil if it is malformed or contains nothing playable.
    init?(_ bytes: [UInt8]) {
        let read = bytes.withUnsafeBytes { raw -> PageListing? in
            JSONNode(object: raw, maxElements: PageFinder.maxBytes / 4).flatMap { PageListing($0) }
        }
        guard let read else { return nil }
        self = read
    }

    private init?(_ page: JSONNode) {
        title = Self.title(page)
        if let all = page.objects("entries", maxCount: Self.maxEntries) {
            entries = all.compactMap { entry in
                let address = [entry.text("webpage_url"), entry.text("url")].lazy.compactMap { $0 }.first(
                    where: Self.isWeb)
                return address.map { ($0, Self.title(entry)) }
            }
            if entries.isEmpty { return nil }
            return
        }
        if let formats = page.objects("requested_formats", maxCount: 4) {
            let streams = formats.compactMap(Self.stream)
            guard streams.count == formats.count, (1...2).contains(streams.count) else { return nil }
            // The input without video comes second, regardless of the order.
            let isAudioOnly = formats.map { $0.rawString("vcodec").map { $0 == "none" } ?? false }
            self.streams = isAudioOnly.first == true && isAudioOnly.last == false ? streams.reversed() : streams
        } else if let stream = Self.stream(page) {
            streams = [stream]
        } else {
            return nil
        }
        chapters = (page.objects("chapters", maxCount: Self.maxChapters) ?? []).compactMap { chapter in
            guard let seconds = chapter.real("start_time"), seconds >= 0,
                let start = MediaTime(boundedSeconds: seconds)
            else { return nil }
            return Chapter(start: start, title: Self.title(chapter))
        }.sorted { $0.start < $1.start }
    }

    private static func title(_ object: JSONNode) -> String? {
        object.text("title").map { String($0.prefix(longestTitle)) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func stream(_ object: JSONNode) -> Stream? {
        // Segments without addresses are accessible only through the manifest.
        let isInPieces = object.rawString("protocol").map { $0 == "http_dash_segments" } ?? false
        let address = isInPieces ? object.text("manifest_url") ?? object.text("url") : object.text("url")
        guard let address, isWeb(address) else { return nil }
        let fields = object.members(of: "http_headers", maxCount: HeaderField.maxFields).compactMap {
            // ignored: a value that no header may hold is not sent.
            try? HeaderField(name: $0.name, value: $0.value)
        }
        return Stream(address: address, fields: fields, cookies: object.text("cookies"))
    }

    private static func isWeb(_ address: String) -> Bool {
        let text = address.prefix(8).lowercased()
        return (text.hasPrefix("http://") || text.hasPrefix("https://"))
            && !address.unicodeScalars.contains { $0.value <= 0x20 || $0 == "\u{FFFD}" }
    }
}
