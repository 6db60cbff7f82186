internal import Glibc
internal import MediaCore

/// A moment as calendars and clocks on the wall show it, in seconds since 1970 (POSIX.1-2017, 4.16). Steps when somebody sets the
/// clock; nothing that is heard or seen hangs on it but when programmes change.
package struct WallTime: Sendable, Hashable, Comparable {
    package let seconds: Int

    package init(seconds: Int) { self.seconds = seconds }

    package static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: time.tv_sec)
    }

    package static func < (left: WallTime, right: WallTime) -> Bool { left.seconds < right.seconds }

    /// How long it is from here to a later moment.
    package func duration(to later: WallTime) -> Duration { .seconds(later.seconds - seconds) }
}

/// What clocks on the wall show where this computer is.
package struct LocalTime: Sendable, Hashable {
    package var year, month, day: Int
    /// 1 is Monday.
    package var weekday: Int
    package var time: TimeOfDay
}

/// From moments to what clocks show, and back; a zone's rules are the system's.
package protocol WallCalendar: Sendable {
    func local(_ moment: WallTime) -> LocalTime
    /// The moment at which clocks show this, `days` later than a date; where clocks are put forward over it, as much later, and where they
    /// show it twice, the first.
    func moment(year: Int, month: Int, day: Int, plusDays days: Int, at time: TimeOfDay) -> WallTime
}

/// The calendar of the zone that this computer is in (`TZ`, /etc/localtime).
package struct SystemCalendar: WallCalendar {
    package init() {}

    package func local(_ moment: WallTime) -> LocalTime {
        var seconds = time_t(moment.seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        // A leap second has no place of its own in `TimeOfDay`.
        let time = TimeOfDay(
            hour: Int(parts.tm_hour), minute: Int(parts.tm_min), second: min(59, Int(parts.tm_sec)))
        return LocalTime(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday),
            weekday: parts.tm_wday == 0 ? 7 : Int(parts.tm_wday), time: time ?? .midnight)
    }

    package func moment(year: Int, month: Int, day: Int, plusDays days: Int, at time: TimeOfDay) -> WallTime {
        var parts = tm()
        parts.tm_year = Int32(clamping: year - 1900)
        parts.tm_mon = Int32(clamping: month - 1)
        parts.tm_mday = Int32(clamping: day + days)
        parts.tm_hour = Int32(time.seconds / 3600)
        parts.tm_min = Int32(time.seconds / 60 % 60)
        parts.tm_sec = Int32(time.seconds % 60)
        parts.tm_isdst = -1
        return WallTime(seconds: mktime(&parts))
    }
}
