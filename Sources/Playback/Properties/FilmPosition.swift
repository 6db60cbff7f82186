public import MediaCore

/// A user-provided position in media, which may depend on the duration.
public enum FilmPosition: Sendable, Hashable {
    /// Relative to the start.
    case fromStart(MediaTime)
    /// Before the end.
    case fromEnd(MediaTime)
    /// A fraction of the duration, 0…1.
    case fraction(Double)

    /// Parses mpv's notation: `90`, `1:30`, `01:02:03.5`, `-10` (from the end), `50%`.
    public init(parsing text: String) throws(ValueError) {
        if text.hasSuffix("%") {
            guard let percent = DecimalNumber.parse(String(text.dropLast())), percent <= 100 else {
                throw ValueError("a percentage of the film must be from 0% to 100%")
            }
            self = .fraction(percent / 100)
            return
        }
        let isFromEnd = text.hasPrefix("-")
        let clock = isFromEnd || text.hasPrefix("+") ? text.dropFirst() : text[...]
        guard let nanoseconds = Self.nanoseconds(clock) else {
            throw ValueError("a time must have the form 90, 1:30, 01:02:03.5, -10 (from the end) or 50%")
        }
        let time = MediaTime(nanoseconds: nanoseconds)
        self = isFromEnd ? .fromEnd(time) : .fromStart(time)
    }

    private static func nanoseconds(_ clock: Substring) -> Int64? {
        let fields = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count <= 3, let last = fields.last, var total = DecimalNumber.billionths(last) else { return nil }
        var unit: Int64 = 1_000_000_000
        for part in fields.dropLast().reversed() {
            unit *= 60
            guard let count = DecimalNumber.integer(part) else { return nil }
            let (share, overflow) = Int64(count).multipliedReportingOverflow(by: unit)
            let (sum, carry) = total.addingReportingOverflow(share)
            if overflow || carry { return nil }
            total = sum
        }
        return total
    }

    /// Returns the media time; positions before the start are clamped to it. Nil if the duration is required and
    /// unknown.
    public func mediaTime(in duration: MediaTime?) -> MediaTime? {
        switch self {
        case .fromStart(let time): return max(.zero, time)
        case .fromEnd(let time): return duration.map { max(.zero, $0 - time) }
        case .fraction(let share): return duration.map { MediaTime(seconds: $0.seconds * max(0, share)) }
        }
    }
}
