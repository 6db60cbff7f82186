import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

@Suite struct FollowedTimebaseTests {
    @Test func delaysOfLinesThatFollowEachOtherAddUp() throws {
        let clock = ManualClock()
        let synchronizer = RenderSynchronizer(clock: clock)
        let whole = Timebase(following: synchronizer.timebase)
        let member = Timebase(following: whole)
        whole.delay = .milliseconds(100)
        member.delay = .milliseconds(-30)
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now.advanced(by: .seconds(1)))
        let start = try #require(synchronizer.timebase.snapshot.scheduled).hostAnchor
        #expect(try #require(whole.snapshot.scheduled).hostAnchor - start == .milliseconds(100))
        #expect(try #require(member.snapshot.scheduled).hostAnchor - start == .milliseconds(70))
        // A user-provided delay shifts every member equally.
        whole.delay = .zero
        #expect(try #require(member.snapshot.scheduled).hostAnchor - start == .milliseconds(-30))
        // The current segment is shifted as the scheduled one is.
        synchronizer.setRate(1, time: .zero, atHostTime: clock.now)
        clock.advance(by: .seconds(2))
        #expect(member.currentTime == millisecond(2030))
        whole.delay = .milliseconds(100)
        #expect(whole.currentTime == millisecond(1900) && member.currentTime == millisecond(1930))
    }
}
