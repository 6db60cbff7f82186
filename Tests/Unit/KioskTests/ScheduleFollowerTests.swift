import MediaCore
import Testing

@testable import Kiosk

/// What is due as the calendar time advances.
@Suite struct ScheduleFollowerTests {
    private let calendar = CentralEurope()

    private func at(_ hour: Int, _ minute: Int = 0) -> WallTime {
        calendar.wallTime(year: 2026, month: 11, day: 10, plusDays: 0, at: TimeOfDay(hour: hour, minute: minute)!)
    }

    private func follower(
        at now: WallTime, _ change: (inout KioskConfiguration) -> Void
    ) -> (follower: ScheduleFollower, configuration: KioskConfiguration) {
        var configuration = KioskConfiguration()
        configuration.settings.playlist = ["a.mp4"]
        change(&configuration)
        return (ScheduleFollower(configuration, calendar: calendar, at: now), configuration)
    }

    @Test func theStartIsWaitedForAndComesOnce() {
        let (follower, _) = follower(at: at(9)) { $0.start = .time(TimeOfDay(hour: 9, minute: 30)!) }
        #expect(!follower.isWaiting, "nothing is waited for yet")
        follower.waitForStart(at: at(9))
        #expect(follower.isWaiting && follower.start == "09:30" && follower.beginsAt == at(9, 30))
        var starts = [at(9, 29), at(9, 30), at(9, 31)].map { follower.hasStarted(at: $0) }
        #expect(starts == [false, true, false] && !follower.isWaiting && follower.start == nil)
        follower.waitForStart(at: at(9))
        follower.skipStart()
        starts = [follower.hasStarted(at: at(9, 30))]
        #expect(starts == [false] && !follower.isWaiting)
    }

    @Test func aClockThatIsSetBackBeforeTheStartWaitsForTodaysStart() {
        let (follower, _) = follower(at: at(10, 30)) { $0.start = .time(TimeOfDay(hour: 9, minute: 0)!) }
        follower.waitForStart(at: at(10, 30))
        var starts = [follower.hasStarted(at: at(10, 31)), follower.hasStarted(at: at(8, 30))]
        #expect(follower.beginsAt == at(9))
        starts.append(follower.hasStarted(at: at(9)))
        #expect(starts == [false, false, true])
    }

    @Test func quietHoursAreAChangeWhenTheyBeginAndEnd() throws {
        let quiet = try DaySpan(parsing: "22:00-07:00")
        let (follower, _) = follower(at: at(21)) { $0.quietHours = [quiet] }
        var before = follower.advance(to: at(21, 59))
        #expect(before == nil && !follower.isWaiting)
        before = follower.advance(to: at(22))
        #expect(before?.isQuiet == false && follower.isWaiting && follower.quietEnd(after: at(22)) == " until 07:00")
        before = follower.advance(to: at(23))
        #expect(before == nil)
        before = follower.advance(to: at(7))
        #expect(before?.isQuiet == true && !follower.isWaiting)
    }

    @Test func anotherScheduleIsAChangeAtTheNextStep() throws {
        let (follower, first) = follower(at: at(12)) { _ in }
        var configuration = first
        let whole = try DaySpan(parsing: "12:00-12:00")
        configuration.quietHours = [whole]
        follower.replace(configuration)
        #expect(!follower.isWaiting)
        let before = follower.advance(to: at(12))
        #expect(before?.isQuiet == false && follower.isWaiting && follower.quietEnd(after: at(12)).isEmpty)
    }
}
