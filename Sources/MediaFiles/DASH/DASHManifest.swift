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
        var purpose: Track.Purpose
    }

    /// The maximum size in bytes: long films that list every segment.
    static let largest = 8 << 20
    static let maxSegments = 100_000
    static let maxRepresentations = 32
    /// The maximum duration of a segment in ticks.
    static let longestPiece: Int64 = 1 << 50

    /// The limits for all segments together: ten variants of ten hours in segments of two seconds, with URLs of a
    /// hundred bytes. Also the work on representations and segments that are rejected is charged.
    struct Budget {
        private var pieces = 200_000
        private var bytes = 24 << 20
        var work: WorkBudget

        init(isCancelled: @escaping () -> Bool = { false }) {
            work = WorkBudget(96 << 20, isCancelled: isCancelled)
        }

        /// Charges the memory of a segment.
        mutating func spend(on address: WebAddress) throws(WorkBudget.Exceeded) {
            pieces -= 1
            bytes -= address.target.utf8.count
            guard pieces >= 0, bytes >= 0 else { throw .limit }
        }

        /// Returns the target of a reference; nil if it is not an HTTP URL.
        mutating func resolve(
            _ reference: String, in base: WebAddress
        ) throws(WorkBudget.Exceeded) -> WebAddress? {
            try work.spend(64 + base.target.utf8.count + reference.utf8.count)
            return base.resolving(reference)
        }
    }

    /// An element that contains segments or elements with segments, and what it states about them. Searched once.
    struct Level {
        let element: MarkupElement
        var base: String?
        var isProtected = false
        var template: MarkupElement?
        var list: MarkupElement?
        private var accessibility: Track.Purpose?
        private var role: Track.Purpose?
        /// The purpose of an adaptation set. What it states about accessibility is more specific than its role.
        var purpose: Track.Purpose { accessibility ?? role ?? .main }

        init(_ element: MarkupElement, _ budget: inout Budget) throws(WorkBudget.Exceeded) {
            try budget.work.spend(16 + element.children.count)
            self.element = element
            for child in element.children {
                switch child.name {
                case "BaseURL": base = base ?? child.text
                case "ContentProtection": isProtected = true
                case "SegmentTemplate": template = template ?? child
                case "SegmentList": list = list ?? child
                case "Accessibility": accessibility = accessibility ?? Self.purpose(child)
                case "Role": role = role ?? Self.purpose(child)
                default: break
                }
            }
        }

        /// Returns the purpose that a descriptor states; nil if it states none. The schemes are those of ISO 23009-1,
        /// 5.8.5.5, and of ETSI TS 102 822-3-1, A.13.
        private static func purpose(_ descriptor: MarkupElement) -> Track.Purpose? {
            switch (descriptor.attributes["schemeIdUri"], descriptor.attributes["value"]) {
            case ("urn:mpeg:dash:role:2011", "description"), ("urn:tva:metadata:cs:AudioPurposeCS:2007", "1"):
                .description
            case ("urn:mpeg:dash:role:2011", "enhanced-audio-intelligibility"),
                ("urn:tva:metadata:cs:AudioPurposeCS:2007", "2"):
                .hearingImpaired
            case ("urn:mpeg:dash:role:2011", "commentary"), ("urn:tva:metadata:cs:AudioPurposeCS:2007", "3"),
                ("urn:tva:metadata:cs:AudioPurposeCS:2007", "4"):
                .commentary
            case ("urn:mpeg:dash:role:2011", "karaoke"): .karaoke
            default: nil
            }
        }

        /// Returns the base of the addresses in this element; nil if it is not an HTTP URL.
        func base(
            in address: WebAddress, _ budget: inout Budget
        ) throws(WorkBudget.Exceeded) -> WebAddress? {
            guard let base else { return address }
            return try budget.resolve(base.filter { !$0.isWhitespace }, in: address)
        }
    }

    let representations: [Representation]
    /// The stated duration of the film in seconds.
    let seconds: Double?

    /// Parses a manifest.
    ///
    /// - Parameter isCancelled: Called repeatedly while the manifest is parsed.
    /// - Throws: `notMedia` for an invalid manifest; `unsupported` for a live or encrypted one, several periods, base
    ///   URLs that are not HTTP, or no playable representation; `untrusted` if an `https` manifest refers to `http`;
    ///   `limitExceeded` for more segments or more work than `Budget`; `cancelled`.
    init(
        _ bytes: [UInt8], at address: WebAddress, named name: String, isCancelled: @escaping () -> Bool = { false }
    ) throws(MediaError) {
        var budget = Budget(isCancelled: isCancelled)
        do { self = try DASHManifest(bytes, at: address, named: name, &budget) } catch {
            switch error {
            case let error as MediaError: throw error
            case WorkBudget.Exceeded.cancelled:
                throw MediaError(.cancelled, "reading \(name) was cancelled; open it again to continue")
            default: throw MediaError(.limitExceeded, "\(name) lists too many segments; use another address")
            }
        }
    }

    private init(
        _ bytes: [UInt8], at address: WebAddress, named name: String, _ budget: inout Budget
    ) throws {
        guard bytes.count <= Self.largest, let root = try MarkupElement(bytes, &budget.work), root.name == "MPD" else {
            throw MediaError(.notMedia, "\(name) is not a DASH manifest, or it is damaged; check the address")
        }
        guard root.attributes["type"] != "dynamic" else {
            throw MediaError(
                .unsupported,
                "\(name) is a live DASH stream, which is not supported; use an HLS address if there is one")
        }
        let periods = try root.all("Period", &budget.work)
        guard periods.count == 1 else {
            throw MediaError(
                .unsupported,
                "\(name) has \(periods.count) periods, but only one is supported; use an HLS address if there is one"
            )
        }
        let period = try Level(periods[0], &budget)
        let duration = period.element.attributes["duration"] ?? root.attributes["mediaPresentationDuration"]
        let seconds = duration.flatMap(Self.seconds)
        self.seconds = seconds
        guard let outer = try Level(root, &budget).base(in: address, &budget),
            let base = try period.base(in: outer, &budget)
        else {
            throw MediaError(
                .unsupported, "\(name) refers to addresses that are not on web servers; use another address")
        }
        var (all, isEnciphered) = ([Representation](), false)
        for (number, element) in try period.element.all("AdaptationSet", &budget.work).enumerated() {
            let set = try Level(element, &budget)
            guard let here = try set.base(in: base, &budget) else { continue }
            for element in try element.all("Representation", &budget.work) where all.count < Self.maxRepresentations {
                let own = try Level(element, &budget)
                if set.isProtected || own.isProtected {
                    isEnciphered = true
                    continue
                }
                guard let at = try own.base(in: here, &budget),
                    let one = try Self.representation(
                        [own, set, period], base: at, number: number, filmSeconds: seconds, budget: &budget)
                else { continue }
                all.append(one)
            }
        }
        guard !all.isEmpty else {
            throw MediaError(
                .unsupported,
                isEnciphered
                    ? "\(name) is encrypted (DRM), which is not supported"
                    : "\(name) contains nothing playable; check the address")
        }
        if address.isSecure,
            !all.allSatisfy({ ($0.pieces + [$0.start].compactMap { $0 }).allSatisfy(\.address.isSecure) })
        {
            throw MediaError(
                .untrusted, "\(name) refers to an address without https; use that address, or another server")
        }
        representations = all
    }

    /// - Parameter levels: The representation, its adaptation set and its period.
    private static func representation(
        _ levels: [Level], base: WebAddress, number: Int, filmSeconds film: Double?, budget: inout Budget
    ) throws(WorkBudget.Exceeded) -> Representation? {
        let (own, set) = (levels[0].element.attributes, levels[1].element.attributes)
        func value(_ key: String) -> String? { own[key] ?? set[key] }
        let type = set["contentType"] ?? value("mimeType") ?? ""
        guard type.hasPrefix("video") || type.hasPrefix("audio") else { return nil }
        let bandwidth = integer(value("bandwidth")) ?? 0
        var made: (start: Piece?, pieces: [Piece])?
        if levels.contains(where: { $0.template != nil }) {
            made = try SegmentTemplate(
                levels.compactMap(\.template), id: own["id"] ?? "", bandwidth: bandwidth
            ).pieces(in: base, film, &budget)
        } else if levels.contains(where: { $0.list != nil }) {
            made = try list(levels.compactMap(\.list), base: base, filmSeconds: film, budget: &budget)
        } else {
            made = (nil, [Piece(address: base, range: nil, seconds: film ?? 1)])
        }
        guard let made, !made.pieces.isEmpty else { return nil }
        return Representation(
            isVideo: type.hasPrefix("video"), language: value("lang"), bandwidth: max(1, bandwidth), start: made.start,
            pieces: made.pieces, set: number, purpose: levels[1].purpose)
    }

    /// Returns the init section and the segments of a `SegmentList`; nil if a URL is not HTTP.
    private static func list(
        _ lists: [MarkupElement], base: WebAddress, filmSeconds film: Double?, budget: inout Budget
    ) throws(WorkBudget.Exceeded) -> (Piece?, [Piece])? {
        func value(_ key: String) -> String? { lists.lazy.compactMap { $0.attributes[key] }.first }
        let scale = max(1, number(value("timescale")) ?? 1)
        var (elements, timeline, initialization) = ([MarkupElement](), MarkupElement?.none, MarkupElement?.none)
        for list in lists {
            if elements.isEmpty { elements = try list.all("SegmentURL", &budget.work) }
            if timeline == nil { timeline = try list.first("SegmentTimeline", &budget.work) }
            if initialization == nil { initialization = try list.first("Initialization", &budget.work) }
        }
        let stated = number(value("duration")).flatMap { Int64(bounded: $0, in: 1...longestPiece) }
        let usual = stated.map { Double($0) / scale } ?? (film ?? 1) / Double(max(1, elements.count))
        var times: [(time: Int64, length: Int64)] = []
        if let timeline { times = try SegmentTemplate.times(timeline, until: nil, scale: scale, &budget.work) }
        var pieces: [Piece] = []
        for (index, element) in elements.prefix(maxSegments).enumerated() {
            guard let address = try resolve(element.attributes["media"], in: base, &budget) else { return nil }
            try budget.spend(on: address)
            let seconds = index < times.count ? Double(times[index].length) / scale : usual
            pieces.append(Piece(address: address, range: range(element.attributes["mediaRange"]), seconds: seconds))
        }
        var start: Piece?
        if let initialization {
            guard let address = try resolve(initialization.attributes["sourceURL"], in: base, &budget) else {
                return nil
            }
            start = Piece(address: address, range: range(initialization.attributes["range"]), seconds: 0)
        }
        return (start, pieces)
    }

    /// Returns the target of a reference, or of none; nil if it is not an HTTP URL.
    private static func resolve(
        _ reference: String?, in base: WebAddress, _ budget: inout Budget
    ) throws(WorkBudget.Exceeded) -> WebAddress? {
        guard let reference else { return base }
        return try budget.resolve(reference, in: base)
    }

    /// The maximum length of a number's text in bytes: an attribute of an outer element is parsed again for each
    /// representation.
    private static let longestNumber = 64

    static func integer(_ text: String?) -> Int64? {
        text.flatMap { $0.utf8.count <= longestNumber ? Int64($0) : nil }
    }

    static func number(_ text: String?) -> Double? {
        text.flatMap { $0.utf8.count <= longestNumber ? Double($0) : nil }
    }

    private static func range(_ text: String?) -> Range<Int64>? {
        let ends = (text ?? "").prefix(longestNumber).split(separator: "-").compactMap { Int64(boundedBytes: $0) }
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
