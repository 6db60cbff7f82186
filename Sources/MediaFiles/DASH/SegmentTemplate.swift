internal import MediaCore

/// A segment template (ISO 23009-1, 5.3.9.4). Inner levels override outer ones.
struct SegmentTemplate {
    private let templates: [MarkupElement]
    private let id: String
    private let bandwidth: Int64

    /// - Parameter templates: The templates of a representation, its adaptation set and its period.
    init(_ templates: [MarkupElement], id: String, bandwidth: Int64) {
        (self.templates, self.id, self.bandwidth) = (templates, id, bandwidth)
    }

    private func value(_ key: String) -> String? { templates.lazy.compactMap { $0.attributes[key] }.first }

    /// Returns the init section and the segments; nil for an invalid template.
    ///
    /// - Parameter budget: The manifest's remaining budget.
    func pieces(
        in base: WebAddress, _ film: Double?, _ budget: inout DASHManifest.Budget
    ) throws(WorkBudget.Exceeded) -> (DASHManifest.Piece?, [DASHManifest.Piece])? {
        guard let pattern = value("media") else { return nil }
        try budget.work.spend(pattern.utf8.count)
        let media = components(of: pattern)
        let scale = max(1, DASHManifest.number(value("timescale")) ?? 1)
        let stated = value("startNumber")
        guard scale < 1e12, let first = (stated == nil ? 1 : DASHManifest.integer(stated))?.boundedTicks, first >= 0
        else { return nil }
        let times: [(time: Int64, length: Int64)]
        var timeline: MarkupElement?
        for template in templates where timeline == nil {
            timeline = try template.first("SegmentTimeline", &budget.work)
        }
        if let timeline {
            let offset = DASHManifest.number(value("presentationTimeOffset")) ?? 0
            times = try Self.times(timeline, until: film.map { $0 * scale + offset }, scale: scale, &budget.work)
        } else {
            guard let length = DASHManifest.number(value("duration")), length >= 1,
                let units = Int64(bounded: length, in: 1...DASHManifest.longestPiece), let film
            else { return nil }
            // A remainder of less than 0.001 segments is dropped.
            let count = Int(clamping: (film * scale / length - 0.001).rounded(.up), in: 1...DASHManifest.maxSegments)
            try budget.work.spend(count)
            times = (0..<count).compactMap { number in
                Int64(bounded: Double(number) * length, in: 0...InputLimit.maxTicks).map { ($0, units) }
            }
        }
        var pieces: [DASHManifest.Piece] = []
        for (index, entry) in times.enumerated() {
            let name = Self.filled(media, number: first + Int64(index), time: entry.time)
            guard let address = try budget.resolve(name, in: base) else { return nil }
            try budget.spend(on: address)
            pieces.append(DASHManifest.Piece(address: address, range: nil, seconds: Double(entry.length) / scale))
        }
        guard let initialization = value("initialization") else { return (nil, pieces) }
        try budget.work.spend(initialization.utf8.count)
        let name = Self.filled(components(of: initialization), number: first, time: 0)
        guard let address = try budget.resolve(name, in: base) else { return nil }
        return (DASHManifest.Piece(address: address, range: nil, seconds: 0), pieces)
    }

    /// Expands a `SegmentTimeline` (5.3.9.6). Each `S` is a segment and its repetitions; −1 repeats to the next `S` or
    /// the end.
    ///
    /// - Parameter budget: Charged for each `S` and each segment.
    static func times(
        _ timeline: MarkupElement, until end: Double?, scale: Double, _ budget: inout WorkBudget
    ) throws(WorkBudget.Exceeded) -> [(time: Int64, length: Int64)] {
        var (times, now) = ([(time: Int64, length: Int64)](), Int64(0))
        let all = try timeline.all("S", &budget)
        for (index, element) in all.enumerated() {
            try budget.spend(64)
            func number(_ key: String) -> Int64? { DASHManifest.integer(element.attributes[key]) }
            guard let length = number("d"), length > 0, length <= DASHManifest.longestPiece else { return times }
            if let time = number("t"), time >= 0, time < 1 << 60 { now = time }
            var more = number("r") ?? 0
            if more < 0 {
                let next = index + 1 < all.count ? DASHManifest.number(all[index + 1].attributes["t"]) : end
                guard let next else { return times }
                more = Int64(
                    clamping: ((next - Double(now)) / Double(length)).rounded(.up) - 1,
                    in: 0...Int64(DASHManifest.maxSegments))
            }
            for _ in 0...min(more, Int64(DASHManifest.maxSegments)) {
                try budget.spend(1)
                guard times.count < DASHManifest.maxSegments, now < 1 << 61 else { return times }
                times.append((now, length))
                now += length
            }
        }
        return times
    }

    /// A part of a pattern: a text, or a number with at least `width` digits.
    private enum Component {
        case text(String)
        case number(width: Int)
        case time(width: Int)
    }

    /// Splits a pattern at its identifiers (5.3.9.4.4): `$Number$`, `$Time$`, `$Bandwidth$` with a width such as
    /// `%05d`, `$RepresentationID$`, and `$$`.
    private func components(of pattern: String) -> [Component] {
        pattern.split(separator: "$", omittingEmptySubsequences: false).prefix(64).enumerated().map {
            index, component in
            guard !index.isMultiple(of: 2) else { return .text(String(component)) }
            let fields = component.split(separator: "%", maxSplits: 1)
            let width = fields.count > 1 ? min(32, Int(fields[1].filter(\.isNumber)) ?? 1) : 1
            return switch fields.first {
            case nil: .text("$")
            case "Number": .number(width: width)
            case "Time": .time(width: width)
            case "Bandwidth": .text(Self.padded(bandwidth, width))
            case "RepresentationID": .text(id)
            default: .text("$\(component)$")
            }
        }
    }

    private static func filled(_ parts: [Component], number: Int64, time: Int64) -> String {
        var text = ""
        for component in parts {
            switch component {
            case .text(let component): text += component
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
