import Glibc
import MediaCore
import Testing

@testable import Kiosk

/// Central European time in 2026: forward on 29 March at 02:00, back on 25 October at 03:00.
struct CentralEurope: WallCalendar {
    private static let summer = 1_774_746_000..<1_792_890_000

    func local(_ moment: WallTime) -> LocalTime {
        var seconds = time_t(moment.seconds + (Self.summer.contains(moment.seconds) ? 7200 : 3600))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return LocalTime(
            year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday),
            weekday: parts.tm_wday == 0 ? 7 : Int(parts.tm_wday),
            time: TimeOfDay(hour: Int(parts.tm_hour), minute: Int(parts.tm_min), second: Int(parts.tm_sec))!)
    }

    func wallTime(year: Int, month: Int, day: Int, plusDays days: Int, at time: TimeOfDay) -> WallTime {
        var parts = tm()
        (parts.tm_year, parts.tm_mon) = (Int32(year - 1900), Int32(month - 1))
        (parts.tm_mday, parts.tm_sec) = (Int32(day + days), Int32(time.seconds))
        let plain = timegm(&parts)
        // Standard time where summer time does not apply: a skipped time is an hour later, of a repeated time the first
        // is used.
        return WallTime(seconds: Self.summer.contains(plain - 7200) ? plain - 7200 : plain - 3600)
    }
}

@Suite struct KioskScheduleTests {
    private let calendar = CentralEurope()

    private func configuration(_ text: String) throws -> KioskConfiguration {
        try KioskConfiguration(Array(("playlist = \"all\"\n" + text).utf8), file: "k.toml", folder: "/k")
    }

    private func at(_ day: Int, _ time: String, month: Int = 6) throws -> WallTime {
        calendar.wallTime(year: 2026, month: month, day: day, plusDays: 0, at: try TimeOfDay(parsing: time))
    }

    private func words(_ moment: WallTime?) -> String? {
        moment.map {
            let local = calendar.local($0)
            return "\(local.day). \(local.time.text)"
        }
    }

    @Test func quietHoursEndWhereNoneFollowAndPartsOfTheDayDoNotCount() throws {
        let schedule = KioskSchedule(
            try configuration(
                """
                quiet_hours = ["22:00-06:00", "06:00-07:00"]
                [day_parts.night]
                from = 23:00:00
                to = 05:00:00
                playlist = "night"
                """), calendar: calendar)
        #expect(words(schedule.quietEnd(after: try at(5, "22:00:00"))) == "6. 07:00")
        let always = KioskSchedule(
            try configuration("quiet_hours = [\"00:00-12:00\", \"12:00-00:00\"]"), calendar: calendar)
        #expect(always.quietEnd(after: try at(5, "22:00:00")) == nil)
    }

    @Test func aPartOfTheDayIsInForceOnItsDaysAndOverMidnight() throws {
        let schedule = KioskSchedule(
            try configuration(
                """
                [day_parts.night]
                from = 22:00:00
                to = 02:00:00
                days = ["fri"]
                playlist = "night"
                """), calendar: calendar)
        // 2026-06-05 is a Friday.
        #expect(schedule.shown(at: try at(5, "21:59:59")).period == nil)
        #expect(schedule.shown(at: try at(5, "22:00")).period == "night")
        #expect(schedule.shown(at: try at(6, "01:59")).period == "night", "what began on Friday")
        #expect(schedule.shown(at: try at(6, "02:00")).period == nil)
        #expect(schedule.shown(at: try at(6, "22:00")).period == nil, "Saturday has none")
        #expect(schedule.shown(at: try at(5, "01:00")).period == nil, "nor had Thursday")
        #expect(words(schedule.nextChange(after: try at(3, "12:00"))) == "5. 22:00")
        #expect(words(schedule.nextChange(after: try at(5, "22:00"))) == "6. 02:00")
        #expect(words(schedule.nextChange(after: try at(6, "02:00"))) == "12. 22:00")
    }

    @Test func theLastOfSeveralPartsCounts() throws {
        let schedule = KioskSchedule(
            try configuration(
                """
                [day_parts.day]
                from = 08:00:00
                to = 18:00:00
                volume = 50
                [day_parts.lunch]
                from = 12:00:00
                to = 13:00:00
                volume = 10
                """), calendar: calendar)
        #expect(schedule.shown(at: try at(1, "12:30")).settings.volume == 10)
        #expect(schedule.shown(at: try at(1, "13:00")).settings.volume == 50)
        #expect(words(schedule.nextChange(after: try at(1, "12:30"))) == "1. 13:00")
    }

    @Test func quietHoursPassMidnightAndTheirEndIsAChange() throws {
        let schedule = KioskSchedule(try configuration("quiet_hours = [\"23:00-06:30\"]"), calendar: calendar)
        #expect(schedule.shown(at: try at(1, "23:00")).isQuiet)
        #expect(schedule.shown(at: try at(2, "06:29")).isQuiet)
        #expect(!schedule.shown(at: try at(2, "06:30")).isQuiet)
        #expect(words(schedule.nextChange(after: try at(1, "23:00"))) == "2. 06:30")
    }

    @Test func nothingChangesWhereNothingIsSaid() throws {
        #expect(KioskSchedule(try configuration(""), calendar: calendar).nextChange(after: try at(1, "00:00")) == nil)
        let allDay = try configuration("[day_parts.all]\nfrom = 00:00:00\nto = 00:00:00\nvolume = 3")
        let schedule = KioskSchedule(allDay, calendar: calendar)
        #expect(schedule.shown(at: try at(1, "11:00")).period == "all")
        #expect(schedule.nextChange(after: try at(1, "00:00")) == nil)
    }

    @Test func clocksThatArePutForwardAndBackMoveNothingByMoreThanThey() throws {
        let schedule = KioskSchedule(
            try configuration("quiet_hours = [\"02:30-05:00\"]"), calendar: calendar)
        // On 29 March 02:30 does not exist: quiet hours start at the latest at 03:30.
        let forward = try #require(schedule.nextChange(after: try at(29, "01:00", month: 3)))
        #expect(try at(29, "01:00", month: 3).duration(to: forward) <= .seconds(3600 + 1800))
        #expect(schedule.shown(at: forward).isQuiet)
        // On 25 October 02:30 occurs twice.
        let back = try #require(schedule.nextChange(after: try at(25, "01:00", month: 10)))
        #expect(schedule.shown(at: back).isQuiet)
        #expect(words(schedule.nextChange(after: back)) == "25. 05:00")
    }

    @Test func aStartIsTheNextTimeOfDayOrTheGivenMoment() throws {
        let daily = KioskSchedule(try configuration("start_at = 09:00:00"), calendar: calendar)
        #expect(words(daily.start(from: try at(4, "08:00"))) == "4. 09:00")
        #expect(words(daily.start(from: try at(4, "09:00"))) == "4. 09:00")
        #expect(words(daily.start(from: try at(4, "09:01"))) == "5. 09:00")
        let once = KioskSchedule(try configuration("start_at = 2026-06-04T07:30:00Z"), calendar: calendar)
        #expect(words(once.start(from: try at(4, "08:00"))) == "4. 09:30", "two hours ahead of UTC in summer")
        #expect(once.start(from: try at(4, "10:00")) == nil)
        let local = KioskSchedule(try configuration("start_at = 2026-06-04T09:30:00"), calendar: calendar)
        #expect(local.start(from: try at(4, "08:00")) == once.start(from: try at(4, "08:00")))
    }

    @Test func theSystemsCalendarReadsWhatItWrites() throws {
        let system = SystemCalendar()
        for hour in [0, 5, 12, 23] {
            let time = try #require(TimeOfDay(hour: hour, minute: 17, second: 4))
            let local = system.local(system.wallTime(year: 2026, month: 6, day: 29, plusDays: 3, at: time))
            #expect(local.month == 7 && local.day == 2 && local.weekday == 4 && local.time == time)
        }
    }
}
