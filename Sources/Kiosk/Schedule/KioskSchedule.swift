internal import MediaCore

/// The schedule of a kiosk: what is shown at which time. A value; the caller provides the time.
struct KioskSchedule: Sendable {
    /// What is shown at a time.
    struct Shown: Sendable, Equatable {
        var settings: KioskConfiguration.DaySettings
        /// The name of the current part of the day; nil outside of all parts.
        var period: String?
        /// Screen and audio are off.
        var isQuiet: Bool
    }

    private let configuration: KioskConfiguration
    private let calendar: any WallCalendar

    init(_ configuration: KioskConfiguration, calendar: any WallCalendar = SystemCalendar()) {
        (self.configuration, self.calendar) = (configuration, calendar)
    }

    /// Returns what is shown at a time.
    func shown(at instant: WallTime) -> Shown {
        let local = calendar.local(instant)
        let period = configuration.periods.last { Self.isInForce($0, at: local) }
        return Shown(
            settings: period?.settings ?? configuration.settings, period: period?.name,
            isQuiet: configuration.quietHours.contains { $0.contains(local.time) })
    }

    /// Returns the next time at which something else is shown; nil if nothing changes.
    func nextChange(after instant: WallTime) -> WallTime? {
        let spans = configuration.periods.map(\.span) + configuration.quietHours
        let times = Set(spans.flatMap { [$0.from, $0.to] })
        guard !times.isEmpty else { return nil }
        let today = calendar.local(instant)
        let present = shown(at: instant)
        // Weekdays repeat after seven days; one more for a part that passes midnight.
        for days in 0...8 {
            let instants = times.map {
                calendar.wallTime(year: today.year, month: today.month, day: today.day, plusDays: days, at: $0)
            }
            let next = instants.filter { $0 > instant && shown(at: $0) != present }.min()
            if let next { return next }
        }
        return nil
    }

    /// Returns the end of the quiet hours that include a time; nil if they never end.
    func quietEnd(after instant: WallTime) -> WallTime? {
        var next = nextChange(after: instant)
        // Parts of the day start and end within quiet hours, each at most twice a day.
        for _ in 0..<(2 * (configuration.periods.count + configuration.quietHours.count) * 8) {
            guard let end = next, shown(at: end).isQuiet else { return next }
            next = nextChange(after: end)
        }
        return nil
    }

    /// Returns when playback starts if the kiosk is started at `instant`; nil if it starts at once.
    ///
    /// - Parameter continues: Whether the last run was interrupted: a time of day that has passed is not awaited on the
    ///   next day then.
    func start(from instant: WallTime, continues: Bool = false) -> WallTime? {
        switch configuration.start {
        case .atOnce: return nil
        case .time(let time):
            let today = calendar.local(instant)
            for days in 0...(continues ? 0 : 1) {
                let start = calendar.wallTime(
                    year: today.year, month: today.month, day: today.day, plusDays: days, at: time)
                if start >= instant { return start }
            }
            return nil
        case .dateTime(let written):
            let start = calendar.wallTime(of: written)
            return start > instant ? start : nil
        }
    }

    private static func isInForce(_ period: KioskConfiguration.DayPeriod, at local: LocalTime) -> Bool {
        guard period.span.contains(local.time) else { return false }
        // After midnight, the part that started on the previous day applies.
        let began =
            period.span.passesMidnight && local.time < period.span.to ? (local.weekday + 5) % 7 + 1 : local.weekday
        return period.days.contains(began)
    }
}

extension WallCalendar {
    /// Returns the time of a written date; without an offset, in the zone of this computer.
    func wallTime(of written: WrittenDateTime) -> WallTime {
        guard let offset = written.offsetMinutes else {
            return wallTime(year: written.year, month: written.month, day: written.day, plusDays: 0, at: written.time)
        }
        // Days since 1970 in the Gregorian calendar. Years are counted from March, so that the leap day is their last.
        let year = written.month > 2 ? written.year : written.year - 1
        let month = (written.month + 9) % 12
        let days = 365 * year + year / 4 - year / 100 + year / 400 + (month * 306 + 5) / 10 + written.day - 719_469
        return WallTime(seconds: days * TimeOfDay.secondsOfDay + written.time.seconds - offset * 60)
    }
}
