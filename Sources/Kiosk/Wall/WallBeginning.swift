internal import MediaCore

extension KioskConfiguration.Start {
    /// A time of the day that is nearer than this is waited for; of an earlier one the last counts, so that whoever comes late joins.
    private static let waitingTime = 3600

    /// When a wall's list began, or is to begin, which every kiosk must find alike (`WallLine.epoch`).
    ///
    /// - Parameters:
    ///   - now: what the calendar shows.
    ///   - remembered: the answer of an earlier start by the same configuration: a time of the day comes again every day.
    package func wallBeginning(
        at now: WallTime, remembered: WallInstant? = nil, calendar: any WallCalendar = SystemCalendar()
    ) -> WallInstant {
        switch self {
        // 1970 is the same everywhere.
        case .atOnce: return WallInstant(nanoseconds: 0)
        case .moment(let written): return WallInstant(calendar.moment(of: written))
        case .time(let time):
            if let remembered { return remembered }
            let today = calendar.local(now)
            let moments = [-1, 0, 1].map {
                calendar.moment(year: today.year, month: today.month, day: today.day, plusDays: $0, at: time)
            }
            let last = moments.last { $0.seconds <= now.seconds + Self.waitingTime }
            return WallInstant(last ?? moments[0])
        }
    }
}
