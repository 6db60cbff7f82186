internal import MediaCore

extension KioskConfiguration.Start {
    /// In seconds. A start at a time of day within this lead is waited for. Otherwise the previous occurrence counts,
    /// so that a late kiosk joins.
    private static let waitingTime = 3600

    /// Returns when a wall's playlist starts or started, equal on all kiosks (`WallTimeline.epoch`).
    ///
    /// - Parameters:
    ///   - now: The current calendar time.
    ///   - remembered: The result of an earlier start with the same configuration, because a time of day recurs daily.
    func wallBeginning(
        at now: WallTime, remembered: WallInstant? = nil, calendar: any WallCalendar = SystemCalendar()
    ) -> WallInstant {
        switch self {
        // 1970 is equal on all kiosks.
        case .atOnce: return WallInstant(nanoseconds: 0)
        case .dateTime(let written): return WallInstant(calendar.wallTime(of: written))
        case .time(let time):
            if let remembered { return remembered }
            let today = calendar.local(now)
            let candidates = [-1, 0, 1].map {
                calendar.wallTime(year: today.year, month: today.month, day: today.day, plusDays: $0, at: time)
            }
            let last = candidates.last { $0.seconds <= now.seconds + Self.waitingTime }
            return WallInstant(last ?? candidates[0])
        }
    }
}
