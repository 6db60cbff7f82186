internal import MediaCore

/// A segment template (ISO 23009-1, 5.3.9.4). Inner levels override outer ones.
struct SegmentTemplate {
    private let templates: [MarkupElement]
    private let id: String
    private let bandwidth: Int64

    init(_ levels: [MarkupElement], id: String, bandwidth: Int64) {
        templates = levels.compactMap { $0.first("SegmentTemplate") }
        (self.id, self.bandwidth) = (id, bandwidth)
    }

    private func value(_ key: String) -> String? { templates.lazy.compactMap { $0.attributes[key] }.first }

    /// Returns the init section and the segments; nil for an invalid template.
    ///
    /// - Parameter budget: The manifest's remaining budget.
    func pieces(
        in base: WebAddress, _ film: Double?, _ budget: inout DASHManifest.Budget
    ) throws(DASHManifest.Budget.Exceeded) -> (DASHManifest.Piece?, [DASHManifest.Piece])? {
        guard let media = value("media").map(parts(of:)) else { return nil }
        let scale = max(1, value("timescale").flatMap { Double($0) } ?? 1)
        guard scale < 1e12, let first = (value("startNumber").map { Int64($0) } ?? 1)?.boundedTicks, first >= 0 else {
            return nil
        }
        let times: [(time: Int64, length: Int64)]
        if let timeline = templates.lazy.compactMap({ $0.first("SegmentTimeline") }).first {
            let offset = value("presentationTimeOffset").flatMap { Double($0) } ?? 0
            times = Self.times(timeline, until: film.map { $0 * scale + offset }, scale: scale)
        } else {
            guard let length = value("duration").flatMap({ Double($0) }), length >= 1,
                let whole = Int64(bounded: length, in: 1...DASHManifest.longestPiece), let film
            else { return nil }
            // A remainder of less than 0.001 segments is dropped.
            let count = Int(clamping: (film * scale / length - 0.001).rounded(.up), in: 1...DASHManifest.maxSegments)
            times = (0..<count).compactMap { number in
                Int64(bounded: Double(number) * length, in: 0...InputLimit.maxTicks).map { ($0, whole) }
            }
        }
        var pieces: [DASHManifest.Piece] = []
        for (index, entry) in times.enumerated() {
            let name = Self.filled(media, number: first + Int64(index), time: entry.time)
            guard let address = base.resolving(name) else { return nil }
            try budget.spend(on: address)
            pieces.append(DASHManifest.Piece(address: address, range: nil, seconds: Double(entry.length) / scale))
        }
        guard let initialization = value("initialization") else { return (nil, pieces) }
        guard let address = base.resolving(Self.filled(parts(of: initialization), number: first, time: 0)) else {
            return nil
        }
        return (DASHManifest.Piece(address: address, range: nil, seconds: 0), pieces)
    }

    /// Expands a `SegmentTimeline` (5.3.9.6). Each `S` is a segment and its repetitions; −1 repeats to the next `S` or
    /// the end.
    static func times(_ timeline: MarkupElement, until end: Double?, scale: Double) -> [(time: Int64, length: Int64)] {
        var (times, now) = ([(time: Int64, length: Int64)](), Int64(0))
        let all = timeline.all("S")
        for (index, element) in all.enumerated() {
            func number(_ key: String) -> Int64? { element.attributes[key].flatMap { Int64($0) } }
            guard let length = number("d"), length > 0, length <= DASHManifest.longestPiece else { return times }
            if let time = number("t"), time >= 0, time < 1 << 60 { now = time }
            var more = number("r") ?? 0
            if more < 0 {
                let next = index + 1 < all.count ? all[index + 1].attributes["t"].flatMap { Double($0) } : end
                guard let next else { return times }
                more = Int64(
                    clamping: ((next - Double(now)) / Double(length)).rounded(.up) - 1,
                    in: 0...Int64(DASHManifest.maxSegments))
            }
            for _ in 0...min(more, Int64(DASHManifest.maxSegments)) {
                guard times.count < DASHManifest.maxSegments, now < 1 << 61 else { return times }
                times.append((now, length))
                now += length
            }
        }
        return times
    }

    /// A part of a pattern: a text, or a number with at least `width` digits.
    private enum Part {
        case text(String)
        case number(width: Int)
        case time(width: Int)
    }

    /// Splits a pattern at its identifiers (5.3.9.4.4): `$Number$`, `$Time$`, `$Bandwidth$` with a width such as
    /// `%05d`, `$RepresentationID$`, and `$$`.
    private func parts(of pattern: String) -> [Part] {
        pattern.split(separator: "$", omittingEmptySubsequences: false).prefix(64).enumerated().map { index, part in
            guard !index.isMultiple(of: 2) else { return .text(String(part)) }
            let words = part.split(separator: "%", maxSplits: 1)
            let width = words.count > 1 ? min(32, Int(words[1].filter(\.isNumber)) ?? 1) : 1
            return switch words.first {
            case nil: .text("$")
            case "Number": .number(width: width)
            case "Time": .time(width: width)
            case "Bandwidth": .text(Self.padded(bandwidth, width))
            case "RepresentationID": .text(id)
            default: .text("$\(part)$")
            }
        }
    }

    private static func filled(_ parts: [Part], number: Int64, time: Int64) -> String {
        var text = ""
        for part in parts {
            switch part {
            case .text(let part): text += part
            case .number(let width): text += padded(number, width)
            case .time(let width): text += padded(time, width)
            }
        }
        return text
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
