internal import Glibc
internal import MediaCore

/// A calendar time in seconds since 1970 (POSIX.1-2017, 4.16). It steps when the clock is set. Only the schedule
/// depends on it, not the timing of audio and video.
struct WallTime: Sendable, Hashable, Comparable {
    /// Seconds since 1970.
    let seconds: Int

    static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(seconds: time.tv_sec)
    }

    package static func < (left: WallTime, right: WallTime) -> Bool { left.seconds < right.seconds }

    /// Returns the duration until a later time.
    package func duration(to later: WallTime) -> Duration { .seconds(later.seconds - seconds) }
}

/// A local date and time of this computer.
struct LocalTime: Sendable, Hashable {
    var year, month, day: Int
    /// 1 is Monday.
    var weekday: Int
    var time: TimeOfDay
}

/// Converts between times and local dates; the rules of the zone are the system's.
protocol WallCalendar: Sendable {
    /// Returns the local date and time.
    func local(_ instant: WallTime) -> LocalTime
    /// Returns the time at which clocks show `time`, `days` after a date. A time that daylight saving skips is later by
    /// the skipped duration; of a repeated time, the first is returned.
    func wallTime(year: Int, month: Int, day: Int, plusDays days: Int, at time: TimeOfDay) -> WallTime
}

/// The calendar of this computer's zone (`TZ`, /etc/localtime).
struct SystemCalendar: WallCalendar {
    init() {}

    func local(_ instant: WallTime) -> LocalTime {
        var seconds = time_t(instant.seconds)
        var fields = tm()
        localtime_r(&seconds, &fields)
        // `TimeOfDay` cannot represent a leap second.
        let time = TimeOfDay(
            hour: Int(fields.tm_hour), minute: Int(fields.tm_min), second: min(59, Int(fields.tm_sec)))
        return LocalTime(
            year: Int(fields.tm_year) + 1900, month: Int(fields.tm_mon) + 1, day: Int(fields.tm_mday),
            weekday: fields.tm_wday == 0 ? 7 : Int(fields.tm_wday), time: time ?? .midnight)
    }

    func wallTime(year: Int, month: Int, day: Int, plusDays days: Int, at time: TimeOfDay) -> WallTime {
        var fields = tm()
        fields.tm_year = Int32(clamping: year - 1900)
        fields.tm_mon = Int32(clamping: month - 1)
        fields.tm_mday = Int32(clamping: day + days)
        fields.tm_hour = Int32(time.seconds / 3600)
        fields.tm_min = Int32(time.seconds / 60 % 60)
        fields.tm_sec = Int32(time.seconds % 60)
        fields.tm_isdst = -1
        return WallTime(seconds: mktime(&fields))
    }
}
