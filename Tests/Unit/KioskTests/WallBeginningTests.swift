import MediaCore
import Testing

@testable import Kiosk

@Suite struct WallBeginningTests {
    /// A calendar in UTC.
    private struct Plain: WallCalendar {
        func local(_ moment: WallTime) -> LocalTime {
            let day = moment.seconds / 86400
            let rest = moment.seconds % 86400
            return LocalTime(
                year: 2026, month: 1, day: 1 + day, weekday: 1,
                time: TimeOfDay(hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60)!)
        }
        func wallTime(year: Int, month: Int, day: Int, plusDays days: Int, at time: TimeOfDay) -> WallTime {
            WallTime(seconds: (day - 1 + days) * 86400 + time.seconds)
        }
    }

    private func hours(_ hours: Double) -> WallTime { WallTime(seconds: 10 * 86400 + Int(hours * 3600)) }
    private func beginning(_ start: KioskConfiguration.Start, at now: WallTime, _ remembered: WallInstant? = nil)
        -> Double
    {
        let found = start.wallBeginning(at: now, remembered: remembered, calendar: Plain())
        return Double(found.nanoseconds) / 3600e9 - 240
    }

    @Test func everyKioskFindsOneBeginning() throws {
        let nine = KioskConfiguration.Start.time(try #require(TimeOfDay(hour: 9, minute: 0)))
        #expect(beginning(nine, at: hours(8.5)) == 9, "it is waited for")
        #expect(beginning(nine, at: hours(14)) == 9, "it is joined")
        #expect(beginning(nine, at: hours(3)) == -15, "yesterday's is joined")
        #expect(beginning(nine, at: hours(14), WallInstant(hours(-39))) == -39, "it began the day before yesterday")
        #expect(KioskConfiguration.Start.atOnce.wallBeginning(at: hours(14), calendar: Plain()).nanoseconds == 0)
        let written = WrittenDateTime(
            year: 2026, month: 12, day: 1, time: try #require(TimeOfDay(hour: 9, minute: 0)), offsetMinutes: 60)
        #expect(
            KioskConfiguration.Start.dateTime(written).wallBeginning(at: hours(1)).nanoseconds
                == 1_796_112_000_000_000_000)
    }
}
