internal import MediaCore

/// An HLS media playlist (RFC 8216, 4.3.2 and 4.3.3), parsed as far as seeking requires.
///
/// libavformat's demuxer interprets the tags of the trimmed playlist. A value type; no input traps.
struct MediaPlaylist: Sendable {
    struct Piece: Sendable {
        var seconds: Double
        /// Its lines: from after the previous segment's URL to its own URL.
        var lines: Range<Int>
        /// The index of the state that applies before its lines.
        fileprivate var state: Int
        /// The line of its init section.
        fileprivate var map: Int?
        /// The number of discontinuities before its first frame.
        var breaks: Int
        /// Its program date in seconds since 1970, if stated for this segment.
        var date: Double?
        /// Its byte range, if stated.
        var bytes: Range<Int64>?
        /// The implied first byte, if its byte range continues that of the previous segment.
        fileprivate var impliedOffset: Int64?
    }

    /// A key tag.
    fileprivate struct Key: Sendable, Equatable {
        /// The line's number.
        var line: Int
        var isNone: Bool
        var format: String?
    }

    /// The tags in effect.
    fileprivate struct State: Sendable {
        var keys: [Key] = []
        /// The number of the map tag's line.
        var map: Int?
        /// The keys in effect at the map tag.
        var mapKeys: [Key] = []
    }

    /// The maximum number of segments: more than a day of one second each. Later ones are ignored.
    static let maxSegments = 200_000
    private static let maxSegmentStates = 20_000
    /// The maximum duration in seconds: a year.
    private static let longest = 3.2e7

    let lines: [ArraySlice<UInt8>]
    private(set) var pieces: [Piece] = []
    /// Whether the playlist has ended (`EXT-X-ENDLIST`).
    private(set) var isEnded = false
    /// Whether MP4 segments have an init section (RFC 8216, 4.3.2.5).
    private(set) var hasMap = false
    /// Whether segments have different init sections, of which libavformat's MP4 demuxer reads the first only.
    private(set) var changesMap = false
    /// Whether any stated duration has a fraction; before version 3 they are rounded to whole seconds (RFC 8216,
    /// 4.3.2.1).
    private(set) var hasExactDurations = false
    /// The values of `EXT-X-DATERANGE` tags (RFC 8216, 4.3.2.7).
    private(set) var dateRanges: [ArraySlice<UInt8>] = []
    private static let maxDateRanges = 1024
    private var states = [State()]
    private var firstNumber: Int64 = 0

    /// The maximum number of lines. Each is a slice of 32 bytes, however short, so lines are counted before splitting.
    static let maxLines = 1_000_000
    static let maxBytes = 32 << 20

    /// Parses a playlist; nil if it is malformed, has no segments or exceeds the limits of bytes or lines, and after a
    /// cancellation.
    ///
    /// - Parameter isCancelled: Called repeatedly while the playlist is parsed.
    init?(_ bytes: [UInt8], isCancelled: @escaping () -> Bool = { false }) {
        guard bytes.starts(with: "#EXTM3U".utf8), bytes.count <= Self.maxBytes,
            bytes.count(where: { $0 == 0x0A || $0 == 0x0D || $0 == 0 }) < Self.maxLines
        else { return nil }
        var budget = WorkBudget(3 * Self.maxBytes + 2 * Self.maxLines, isCancelled: isCancelled)
        do throws(WorkBudget.Exceeded) { lines = try Self.lines(of: bytes, &budget) } catch { return nil }
        var (state, first, seconds, breaks) = (State(), 1, Double?.none, 0)
        var date: Double?
        var range: (count: Int64, offset: Int64?)?
        var rangeEnd: Int64 = 0
        var before = 0
        for (index, line) in lines.enumerated().dropFirst() {
            do throws(WorkBudget.Exceeded) { try budget.spend(line.count + 1) } catch { return nil }
            if let value = Self.value(of: "#EXTINF:", in: line) {
                let number = value.prefix { $0 != UInt8(ascii: ",") }
                seconds = Self.number(number) ?? 0
                hasExactDurations = hasExactDurations || number.contains(UInt8(ascii: "."))
            } else if let value = Self.value(of: "#EXT-X-BYTERANGE:", in: line) {
                let numbers = value.split(separator: UInt8(ascii: "@")).map { Int64(boundedBytes: Self.text($0)) }
                if let count = numbers.first ?? nil { range = (count, numbers.count > 1 ? numbers[1] : nil) }
            } else if let value = Self.value(of: "#EXT-X-KEY:", in: line) {
                state.keys = Self.keys(state.keys, with: index, value)
            } else if Self.value(of: "#EXT-X-MAP:", in: line) != nil {
                (state.map, state.mapKeys, hasMap) = (index, state.keys, true)
            } else if let value = Self.value(of: "#EXT-X-PROGRAM-DATE-TIME:", in: line) {
                date = CalendarDate.seconds(Self.text(value))
            } else if let value = Self.value(of: "#EXT-X-DATERANGE:", in: line) {
                if dateRanges.count < Self.maxDateRanges { dateRanges.append(value) }
            } else if line.elementsEqual("#EXT-X-DISCONTINUITY".utf8) {
                breaks += 1
            } else if line.elementsEqual("#EXT-X-ENDLIST".utf8) {
                isEnded = true
            } else if let value = Self.value(of: "#EXT-X-MEDIA-SEQUENCE:", in: line) {
                firstNumber = Int64(boundedBytes: Self.text(value)) ?? 0
            } else if line.first != UInt8(ascii: "#"), let length = seconds {
                guard pieces.count < Self.maxSegments else { continue }
                var implied: Int64?
                var bytes: Range<Int64>?
                if let range {
                    let offset = range.offset ?? rangeEnd
                    if range.offset == nil { implied = offset }
                    bytes = Range(firstByte: offset, count: range.count)
                    rangeEnd = bytes?.upperBound ?? 0
                }
                if let last = pieces.last { changesMap = changesMap || !isMap(state.map, last.map) }
                pieces.append(
                    Piece(
                        seconds: length, lines: first..<index + 1, state: before, map: state.map, breaks: breaks,
                        date: date, bytes: bytes, impliedOffset: implied
                    ))
                (first, seconds, range, date) = (index + 1, nil, nil, nil)
                let last = states[states.count - 1]
                if last.keys != state.keys || last.map != state.map, states.count < Self.maxSegmentStates {
                    states.append(state)
                }
                before = states.count - 1
            }
        }
        guard !pieces.isEmpty else { return nil }
    }

    private func isMap(_ one: Int?, _ other: Int?) -> Bool {
        one == other || one.map { lines[$0] } == other.map { lines[$0] }
    }

    /// The complete text, without empty lines.
    var text: [UInt8] { Self.joined(lines) }

    /// The sum of all segment durations.
    var seconds: Double { pieces.reduce(0) { $0 + $1.seconds } }

    /// Returns the URL of a segment; nil if it is none.
    ///
    /// - Parameter location: The base of the playlist's URLs.
    func address(of index: Int, from location: String) -> WebAddress? {
        let reference = String(decoding: lines[pieces[index].lines.upperBound - 1], as: UTF8.self)
        return WebAddress(location)?.resolving(reference)
    }

    /// Returns the index of the segment at a URL; nil if the playlist does not contain it.
    ///
    /// - Parameters:
    ///   - firstByte: The first byte of its range; nil: any range.
    ///   - location: The base of the playlist's URLs.
    func index(
        ofSegmentAt address: String, firstByte: Int64? = nil, from location: String, _ budget: inout WorkBudget
    ) throws(WorkBudget.Exceeded) -> Int? {
        let wanted = WebAddress(address)?.text ?? address
        let (base, end) = (WebAddress(location), Array(address.utf8))
        let folder = location.lastIndex(of: "/").map { String(location[...$0]) } ?? ""
        var other: ArraySlice<UInt8>?
        for (index, piece) in pieces.enumerated() {
            let line = lines[piece.lines.upperBound - 1]
            try budget.spend(1)
            if let firstByte, piece.bytes?.lowerBound ?? 0 != firstByte { continue }
            let name = line.lastIndex(of: UInt8(ascii: "/")).map { line[line.index(after: $0)...] } ?? line
            // Segments may be byte ranges of one file.
            guard end.suffix(name.count).elementsEqual(name), line != other else { continue }
            other = line
            try budget.spend(64 + location.utf8.count + line.count)
            let reference = String(decoding: line, as: UTF8.self)
            let url: String? = if let base { base.resolving(reference)?.text } else { folder + reference }
            if url == wanted { return index }
        }
        return nil
    }

    /// Returns the position of a date relative to the start of the playlist; nil if the playlist states no dates.
    func mediaTime(of date: Double) -> MediaTime? {
        var (start, found) = (0.0, Double?.none)
        for piece in pieces {
            // Dates before the first stated one are calculated from it.
            if let own = piece.date, found == nil || own <= date { found = start + date - own }
            start += piece.seconds
        }
        return found.flatMap { MediaTime(boundedSeconds: $0) }
    }

    // MARK: Trimming

    /// A playlist without the segments before a position.
    struct Cut: Sendable {
        var text: [UInt8]
        /// The start of its first segment relative to the original playlist, from the stated durations.
        var start: MediaTime
        /// Whether a discontinuity precedes its first segment.
        var followsDiscontinuity: Bool
        /// The start of the following segments, which have another init section; nil if there are none.
        var end: MediaTime?
    }

    /// Returns the playlist from the last segment that begins at or before `mediaTime`, relative to the first segment,
    /// up to a segment with another init section.
    func cut(at time: MediaTime) -> Cut {
        let wanted = time.seconds
        var (index, start) = (0, 0.0)
        // Tolerates rounding of a time that equals the start of a segment.
        while index + 1 < pieces.count, start + pieces[index].seconds <= wanted + 1e-6 {
            start += pieces[index].seconds
            index += 1
        }
        let first = pieces[index]
        let next = pieces[index...].firstIndex { !isMap($0.map, first.map) }
        let end = next.flatMap { MediaTime(boundedSeconds: pieces[index..<$0].reduce(start) { $0 + $1.seconds }) }
        let rest = lines[first.lines.upperBound..<(next.map { pieces[$0].lines.lowerBound } ?? lines.count)]
        let close = next == nil ? [] : [Array("#EXT-X-ENDLIST".utf8)[...]]
        guard index > 0 else {
            let text = next == nil ? text : Self.joined(lines[..<first.lines.upperBound] + rest + close)
            return Cut(text: text, start: .zero, followsDiscontinuity: false, end: end)
        }
        var kept: [ArraySlice<UInt8>] = [lines[0]]
        let wide = ["VERSION:", "TARGETDURATION:", "PLAYLIST-TYPE:", "INDEPENDENT-SEGMENTS", "DEFINE:"].map {
            "#EXT-X-" + $0
        }
        for line in lines where wide.contains(where: { Self.value(of: $0, in: line) != nil }) {
            kept.append(line)
        }
        // A key without a vector uses the segment's number (RFC 8216, 4.3.2.4).
        kept.append(
            Array("#EXT-X-MEDIA-SEQUENCE:\(firstNumber + Int64(index))".utf8)[...])
        let state = states[first.state]
        if let map = state.map {
            kept += state.mapKeys.map { lines[$0.line] } + [lines[map]]
            if state.mapKeys != state.keys { kept += state.keys.map { lines[$0.line] } }
        } else {
            kept += state.keys.map { lines[$0.line] }
        }
        for line in lines[first.lines] {
            guard let implied = first.impliedOffset, let value = Self.value(of: "#EXT-X-BYTERANGE:", in: line) else {
                kept.append(line)
                continue
            }
            kept.append(Array("#EXT-X-BYTERANGE:\(Self.text(value))@\(implied)".utf8)[...])
        }
        kept += rest + close
        return Cut(
            text: Self.joined(kept), start: MediaTime(boundedSeconds: start) ?? time,
            followsDiscontinuity: first.breaks > 0, end: end)
    }

    private static func joined(_ lines: some Collection<ArraySlice<UInt8>>) -> [UInt8] {
        Array(lines.joined(separator: [0x0A])) + [0x0A]
    }

    // MARK: Parsing

    /// Returns the lines without trailing blanks, with the same line ends as in libavformat.
    private static func lines(
        of bytes: [UInt8], _ budget: inout WorkBudget
    ) throws(WorkBudget.Exceeded) -> [ArraySlice<UInt8>] {
        var (lines, rest) = ([ArraySlice<UInt8>](), bytes[...])
        while !rest.isEmpty {
            let line = rest.prefix { $0 != 0x0A && $0 != 0x0D && $0 != 0 }
            try budget.spend(line.count + 1)
            rest = rest[line.endIndex...].dropFirst()
            guard !line.isEmpty else { continue }
            let end = line.lastIndex { $0 != 0x20 && $0 != 0x09 } ?? line.startIndex - 1
            lines.append(line[..<(end + 1)])
        }
        return lines
    }

    /// Returns the keys in effect after a key tag. Keys of different formats coexist; a key replaces the previous one
    /// of its format (RFC 8216, 4.3.2.4).
    private static func keys(_ before: [Key], with index: Int, _ value: ArraySlice<UInt8>) -> [Key] {
        let attributes = AttributeList(value, only: ["METHOD", "KEYFORMAT"])
        let new = Key(line: index, isNone: attributes["METHOD"] == "NONE", format: attributes["KEYFORMAT"])
        if new.isNone { return [new] }
        return before.filter { !$0.isNone && $0.format != new.format }.suffix(7) + [new]
    }

    static func value(of tag: String, in line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        line.starts(with: tag.utf8) ? line.dropFirst(tag.utf8.count) : nil
    }

    static func text(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix(64), as: UTF8.self).trimmed
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Double? {
        DecimalNumber.parse(text(bytes)).flatMap { (0...longest).contains($0) ? $0 : nil }
    }
}

extension String {
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
