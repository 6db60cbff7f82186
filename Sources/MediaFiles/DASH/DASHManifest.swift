internal import MediaCore

/// A DASH manifest (ISO 23009-1), parsed for conversion to HLS playlists.
///
/// libavformat's DASH demuxer opens segments past every guard. HLS playlists can express the same segments and are read
/// instead.
struct DASHManifest: Sendable {
    struct Piece: Sendable {
        var address: WebAddress
        /// The byte range; its upper bound is exclusive.
        var range: Range<Int64>?
        var seconds: Double
    }

    /// A representation: one variant of video or audio.
    struct Representation: Sendable {
        var isVideo: Bool
        var language: String?
        var bandwidth: Int64
        var start: Piece?
        var pieces: [Piece]
        /// The index of its adaptation set.
        var set: Int
    }

    /// The maximum size in bytes: long films that list every segment.
    static let largest = 8 << 20
    static let maxSegments = 100_000
    static let maxRepresentations = 32
    /// The maximum duration of a segment in ticks.
    static let longestPiece: Int64 = 1 << 50

    /// The limit for all segments together: ten variants of ten hours in segments of two seconds, with URLs of a
    /// hundred bytes.
    struct Budget {
        struct Exceeded: Error {}
        private var pieces = 200_000
        private var bytes = 24 << 20

        mutating func spend(on address: WebAddress) throws(Exceeded) {
            pieces -= 1
            bytes -= address.target.utf8.count
            guard pieces >= 0, bytes >= 0 else { throw Exceeded() }
        }
    }

    let representations: [Representation]
    /// The stated duration of the film in seconds.
    let seconds: Double?

    /// Parses a manifest.
    ///
    /// - Throws: `notMedia` for an invalid manifest; `unsupported` for a live or encrypted one, several periods, or
    ///   base URLs that are not HTTP; `limitExceeded` for more segments than `Budget`.
    init(_ bytes: [UInt8], at address: WebAddress, named name: String) throws(MediaError) {
        guard bytes.count <= Self.largest, let root = MarkupElement(bytes), root.name == "MPD" else {
            throw MediaError(.notMedia, "\(name) is not a DASH manifest, or it is damaged; check the address")
        }
        guard root.attributes["type"] != "dynamic" else {
            throw MediaError(
                .unsupported,
                "\(name) is a live DASH stream, which is not supported; use an HLS address if there is one")
        }
        let periods = root.all("Period")
        guard periods.count == 1, let period = periods.first else {
            throw MediaError(
                .unsupported,
                "\(name) has \(periods.count) periods, but only one is supported; use an HLS address if there is one"
            )
        }
        let whole = period.attributes["duration"] ?? root.attributes["mediaPresentationDuration"]
        let seconds = whole.flatMap(Self.seconds)
        self.seconds = seconds
        guard let base = Self.base(of: root, in: address).flatMap({ Self.base(of: period, in: $0) }) else {
            throw MediaError(
                .unsupported, "\(name) refers to addresses that are not on web servers; use another address")
        }
        var (all, isEnciphered, budget) = ([Representation](), false, Budget())
        for (number, set) in period.all("AdaptationSet").enumerated() {
            guard let here = Self.base(of: set, in: base) else { continue }
            for element in set.all("Representation") where all.count < Self.maxRepresentations {
                if set.first("ContentProtection") != nil || element.first("ContentProtection") != nil {
                    isEnciphered = true
                    continue
                }
                guard let at = Self.base(of: element, in: here) else { continue }
                do throws(Budget.Exceeded) {
                    let one = try Self.representation(
                        element, in: set, period: period, base: at, number: number, filmSeconds: seconds,
                        budget: &budget)
                    if let one { all.append(one) }
                } catch {
                    throw MediaError(
                        .limitExceeded, "\(name) lists too many segments; use another address")
                }
            }
        }
        guard !all.isEmpty else {
            throw MediaError(
                isEnciphered ? .unsupported : .notMedia,
                isEnciphered
                    ? "\(name) is encrypted (DRM), which is not supported"
                    : "\(name) contains nothing playable; check the address")
        }
        representations = all
    }

    private static func base(of element: MarkupElement, in address: WebAddress) -> WebAddress? {
        guard let text = element.first("BaseURL")?.text else { return address }
        return address.resolving(text.filter { !$0.isWhitespace })
    }

    private static func representation(
        _ element: MarkupElement, in set: MarkupElement, period: MarkupElement, base: WebAddress, number: Int,
        filmSeconds film: Double?, budget: inout Budget
    ) throws(Budget.Exceeded) -> Representation? {
        func value(_ key: String) -> String? { element.attributes[key] ?? set.attributes[key] }
        let type = set.attributes["contentType"] ?? value("mimeType") ?? ""
        guard type.hasPrefix("video") || type.hasPrefix("audio") else { return nil }
        let bandwidth = value("bandwidth").flatMap { Int64($0) } ?? 0
        let levels = [element, set, period]
        var made: (start: Piece?, pieces: [Piece])?
        if levels.contains(where: { $0.first("SegmentTemplate") != nil }) {
            made = try SegmentTemplate(levels, id: element.attributes["id"] ?? "", bandwidth: bandwidth).pieces(
                in: base, film, &budget)
        } else if levels.contains(where: { $0.first("SegmentList") != nil }) {
            made = try list(levels, base: base, filmSeconds: film, budget: &budget)
        } else {
            made = (nil, [Piece(address: base, range: nil, seconds: film ?? 1)])
        }
        guard let made, !made.pieces.isEmpty else { return nil }
        return Representation(
            isVideo: type.hasPrefix("video"), language: value("lang"), bandwidth: max(1, bandwidth), start: made.start,
            pieces: made.pieces,
            set: number)
    }

    /// Returns the init section and the segments of a `SegmentList`; nil if a URL is not HTTP.
    private static func list(
        _ levels: [MarkupElement], base: WebAddress, filmSeconds film: Double?, budget: inout Budget
    ) throws(Budget.Exceeded) -> (Piece?, [Piece])? {
        let lists = levels.compactMap { $0.first("SegmentList") }
        func value(_ key: String) -> String? { lists.lazy.compactMap { $0.attributes[key] }.first }
        let scale = max(1, value("timescale").flatMap { Double($0) } ?? 1)
        let elements = (lists.first { $0.first("SegmentURL") != nil }?.all("SegmentURL") ?? []).prefix(maxSegments)
        let stated = value("duration").flatMap { Double($0) }.flatMap { Int64(bounded: $0, in: 1...longestPiece) }
        let usual = stated.map { Double($0) / scale } ?? (film ?? 1) / Double(max(1, elements.count))
        let times = lists.lazy.compactMap { $0.first("SegmentTimeline") }.first.map {
            SegmentTemplate.times($0, until: nil, scale: scale)
        }
        var pieces: [Piece] = []
        for (index, element) in elements.enumerated() {
            guard let address = element.attributes["media"].map({ base.resolving($0) }) ?? base else { return nil }
            try budget.spend(on: address)
            let seconds = times.flatMap { index < $0.count ? Double($0[index].length) / scale : nil } ?? usual
            pieces.append(Piece(address: address, range: range(element.attributes["mediaRange"]), seconds: seconds))
        }
        var start: Piece?
        if let element = lists.lazy.compactMap({ $0.first("Initialization") }).first {
            guard let address = element.attributes["sourceURL"].map({ base.resolving($0) }) ?? base else { return nil }
            start = Piece(address: address, range: range(element.attributes["range"]), seconds: 0)
        }
        return (start, pieces)
    }

    private static func range(_ text: String?) -> Range<Int64>? {
        let ends = (text ?? "").split(separator: "-").compactMap { Int64(boundedBytes: $0) }
        return ends.count == 2 ? Range(firstByte: ends[0], lastByte: ends[1]) : nil
    }

    /// Parses an XML Schema duration, such as `PT1H2M3.5S` (part 2, 3.2.6), of less than 1e7 seconds.
    static func seconds(_ text: String) -> Double? {
        guard text.hasPrefix("P") else { return nil }
        var (sum, digits, isTime) = (0.0, "", false)
        for letter in text.dropFirst().prefix(64) {
            if letter == "T" {
                isTime = true
            } else if letter.isNumber || letter == "." {
                digits.append(letter)
            } else {
                guard let number = DecimalNumber.parse(digits) else { return nil }
                digits = ""
                switch letter {
                case "D" where !isTime: sum += number * 86_400
                case "H" where isTime: sum += number * 3600
                case "M" where isTime: sum += number * 60
                case "S" where isTime: sum += number
                default: return nil
                }
            }
        }
        return sum > 0 && sum < 1e7 ? sum : nil
    }
}
