internal import MediaCore

/// The schedule of a kiosk: what is shown at which time. A value; the caller provides the time.
struct KioskSchedule: Sendable {
    /// What is shown at a time.
    struct Shown: Sendable, Equatable {
        var programme: KioskConfiguration.Programme
        /// The name of the current part of the day; nil outside of all parts.
        var part: String?
        /// Screen and audio are off.
        var isQuiet: Bool
    }

    private let configuration: KioskConfiguration
    private let calendar: any WallCalendar

    init(_ configuration: KioskConfiguration, calendar: any WallCalendar = SystemCalendar()) {
        (self.configuration, self.calendar) = (configuration, calendar)
    }

    /// Returns what is shown at a time.
    func shown(at moment: WallTime) -> Shown {
        let local = calendar.local(moment)
        let part = configuration.parts.last { Self.isInForce($0, at: local) }
        return Shown(
            programme: part?.programme ?? configuration.programme, part: part?.name,
            isQuiet: configuration.quietHours.contains { $0.contains(local.time) })
    }

    /// Returns the next time at which something else is shown; nil if nothing changes.
    func nextChange(after moment: WallTime) -> WallTime? {
        let spans = configuration.parts.map(\.span) + configuration.quietHours
        let times = Set(spans.flatMap { [$0.from, $0.to] })
        guard !times.isEmpty else { return nil }
        let today = calendar.local(moment)
        let present = shown(at: moment)
        // Weekdays repeat after seven days; one more for a part that passes midnight.
        for days in 0...8 {
            let moments = times.map {
                calendar.moment(year: today.year, month: today.month, day: today.day, plusDays: days, at: $0)
            }
            let next = moments.filter { $0 > moment && shown(at: $0) != present }.min()
            if let next { return next }
        }
        return nil
    }

    /// Returns the end of the quiet hours that include a time; nil if they never end.
    func quietEnd(after moment: WallTime) -> WallTime? {
        var next = nextChange(after: moment)
        // Parts of the day start and end within quiet hours, each at most twice a day.
        for _ in 0..<(2 * (configuration.parts.count + configuration.quietHours.count) * 8) {
            guard let end = next, shown(at: end).isQuiet else { return next }
            next = nextChange(after: end)
        }
        return nil
    }

    /// Returns when playback starts if the kiosk is started at `moment`; nil if it starts at once.
    func start(from moment: WallTime) -> WallTime? {
        switch configuration.start {
        case .atOnce: return nil
        case .time(let time):
            let today = calendar.local(moment)
            for days in 0...1 {
                let start = calendar.moment(
                    year: today.year, month: today.month, day: today.day, plusDays: days, at: time)
                if start >= moment { return start }
            }
            return nil
        case .moment(let written):
            let start = calendar.moment(of: written)
            return start > moment ? start : nil
        }
    }

    private static func isInForce(_ part: KioskConfiguration.DayPart, at local: LocalTime) -> Bool {
        guard part.span.contains(local.time) else { return false }
        // After midnight, the part that started on the previous day applies.
        let began = part.span.passesMidnight && local.time < part.span.to ? (local.weekday + 5) % 7 + 1 : local.weekday
        return part.days.contains(began)
    }
}

extension WallCalendar {
    /// Returns the time of a written date; without an offset, in the zone of this computer.
    func moment(of written: WrittenMoment) -> WallTime {
        guard let offset = written.offsetMinutes else {
            return moment(year: written.year, month: written.month, day: written.day, plusDays: 0, at: written.time)
        }
        // Days since 1970 in the Gregorian calendar. Years are counted from March, so that the leap day is their last.
        let year = written.month > 2 ? written.year : written.year - 1
        let month = (written.month + 9) % 12
        let days = 365 * year + year / 4 - year / 100 + year / 400 + (month * 306 + 5) / 10 + written.day - 719_469
        return WallTime(seconds: days * TimeOfDay.secondsOfDay + written.time.seconds - offset * 60)
    }
}
