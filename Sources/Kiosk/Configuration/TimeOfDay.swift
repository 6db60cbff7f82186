package import MediaCore

/// A time on the clock on the wall, whatever the day.
package struct TimeOfDay: Sendable, Hashable, Comparable {
    /// 0..<86400 since midnight, by the clock: days on which clocks are changed are no shorter.
    package let seconds: Int

    static let secondsOfDay = 86400
    static let midnight = TimeOfDay(clamping: 0)

    /// Nil for what no clock shows.
    package init?(hour: Int, minute: Int, second: Int = 0) {
        guard (0..<24).contains(hour), (0..<60).contains(minute), (0..<60).contains(second) else { return nil }
        seconds = hour * 3600 + minute * 60 + second
    }

    private init(clamping seconds: Int) { self.seconds = min(Self.secondsOfDay - 1, max(0, seconds)) }

    /// `9:30`, `09:30`, `09:30:15`.
    package init(parsing text: String) throws(ValueError) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.count <= 2 ? DecimalNumber.whole($0) : nil }
        guard (2...3).contains(parts.count), numbers.count == parts.count,
            let time = TimeOfDay(hour: numbers[0], minute: numbers[1], second: numbers.count > 2 ? numbers[2] : 0)
        else { throw ValueError("a time is written 09:30") }
        self = time
    }

    package static func < (left: TimeOfDay, right: TimeOfDay) -> Bool { left.seconds < right.seconds }

    /// `09:30`, with seconds where there are any.
    package var words: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = "\(two(seconds / 3600)):\(two(seconds / 60 % 60))"
        return seconds % 60 == 0 ? minutes : minutes + ":\(two(seconds % 60))"
    }
}

/// A date and a time as somebody wrote them; in the zone of this computer where no other is said.
package struct WrittenMoment: Sendable, Hashable {
    package var year, month, day: Int
    package var time: TimeOfDay
    /// Minutes ahead of UTC.
    package var offsetMinutes: Int?
}

/// From one time of the day to another; over midnight where the second is not later. Equal times are the whole day.
package struct DaySpan: Sendable, Hashable {
    package var from: TimeOfDay
    package var to: TimeOfDay

    package init(from: TimeOfDay, to: TimeOfDay) { (self.from, self.to) = (from, to) }

    /// `22:00-07:00`.
    package init(parsing text: String) throws(ValueError) {
        let sides = text.split(separator: "-", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        guard sides.count == 2 else { throw ValueError("hours are written 22:00-07:00") }
        self.init(from: try TimeOfDay(parsing: sides[0]), to: try TimeOfDay(parsing: sides[1]))
    }

    /// It ends on the day after the one on which it began.
    package var passesMidnight: Bool { to <= from }

    package func contains(_ time: TimeOfDay) -> Bool {
        passesMidnight ? time >= from || time < to : time >= from && time < to
    }

    package var words: String { "\(from.words)-\(to.words)" }
}
