import MediaCore

/// A local time of day, without a date.
struct TimeOfDay: Sendable, Hashable, Comparable {
    /// Seconds since midnight by the clock, 0..<86400, also on days on which daylight saving time starts or ends.
    let seconds: Int

    static let secondsOfDay = 86400
    static let midnight = TimeOfDay(clamping: 0)

    /// Creates a time; nil if a component is out of range.
    init?(hour: Int, minute: Int, second: Int = 0) {
        guard (0..<24).contains(hour), (0..<60).contains(minute), (0..<60).contains(second) else { return nil }
        seconds = hour * 3600 + minute * 60 + second
    }

    private init(clamping seconds: Int) { self.seconds = min(Self.secondsOfDay - 1, max(0, seconds)) }

    /// Parses `9:30`, `09:30` or `09:30:15`.
    init(parsing text: String) throws(ValueError) {
        let fields = text.split(separator: ":", omittingEmptySubsequences: false)
        let numbers = fields.compactMap { $0.count <= 2 ? DecimalNumber.integer($0) : nil }
        guard (2...3).contains(fields.count), numbers.count == fields.count,
            let time = TimeOfDay(hour: numbers[0], minute: numbers[1], second: numbers.count > 2 ? numbers[2] : 0)
        else { throw ValueError("a time is written 09:30") }
        self = time
    }

    package static func < (left: TimeOfDay, right: TimeOfDay) -> Bool { left.seconds < right.seconds }

    /// The time as `09:30`, with seconds unless they are zero.
    var text: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = "\(two(seconds / 3600)):\(two(seconds / 60 % 60))"
        return seconds % 60 == 0 ? minutes : minutes + ":\(two(seconds % 60))"
    }
}

/// A date and a time as written; in the zone of this computer if no offset is given.
struct WrittenDateTime: Sendable, Hashable {
    var year, month, day: Int
    var time: TimeOfDay
    /// Minutes ahead of UTC; nil: the zone of this computer.
    var offsetMinutes: Int?
}

/// A span from one time of day to another. It passes midnight if the second is not later; equal times span the whole
/// day.
struct DaySpan: Sendable, Hashable {
    var from: TimeOfDay
    var to: TimeOfDay

    init(from: TimeOfDay, to: TimeOfDay) { (self.from, self.to) = (from, to) }

    /// Parses `22:00-07:00`.
    init(parsing text: String) throws(ValueError) {
        let sides = text.split(separator: "-", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        guard sides.count == 2 else { throw ValueError("hours are written 22:00-07:00") }
        self.init(from: try TimeOfDay(parsing: sides[0]), to: try TimeOfDay(parsing: sides[1]))
    }

    /// Whether the span ends on the day after its start.
    var passesMidnight: Bool { to <= from }

    /// Returns true if the span includes a time; its end is excluded.
    func contains(_ time: TimeOfDay) -> Bool {
        passesMidnight ? time >= from || time < to : time >= from && time < to
    }

    /// The span as `22:00-07:00`.
    var text: String { "\(from.text)-\(to.text)" }
}
