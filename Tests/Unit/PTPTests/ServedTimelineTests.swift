import MediaCore
import Sockets
import TalkieTestKit
import Testing

@testable import PTP

@Suite struct ServedTimelineTests {
    private let clock = ManualClock()
    private let speaker = NetworkAddress("10.0.0.2")!
    private let other = NetworkAddress("10.0.0.3")!
    private let master = ClockIdentity(rawValue: 42)

    private func mapping(ahead: Int64, partsPerMillion: Double = 0) -> ClockMapping<HostInstant, PTPInstant> {
        ClockMapping(
            sourceAnchor: clock.now, targetAnchor: PTPInstant(nanoseconds: clock.now.nanoseconds + ahead),
            rateOffset: partsPerMillion * 1e-6)
    }

    @Test func withoutAMasterItIsThisComputersClock() {
        let served = ServedTimeline(clock: clock)
        clock.advance(by: .seconds(5000))
        #expect(served.instant(at: clock.now) == PTPInstant(nanoseconds: clock.now.nanoseconds))
        #expect(!served.timeline.isSteered)
        #expect(served.timeline(ofMaster: master) == nil)
    }

    @Test func aServedClientSeesNoStepWhenAMasterIsFollowed() throws {
        let served = ServedTimeline(clock: clock)
        let before = served.instant(at: clock.now)
        #expect(served.adjust(master, of: speaker, at: mapping(ahead: 1 << 60, partsPerMillion: 50), isPlaying: false))
        #expect(served.instant(at: clock.now) == before)
        clock.advance(by: .seconds(100))
        let gained = served.instant(at: clock.now).nanoseconds - clock.now.nanoseconds
        #expect(abs(gained - 5_000_000) <= 2, "100 s at 50 ppm")
        let theirs = try #require(served.timeline(ofMaster: master))
        #expect(theirs.grandmaster == master)
        #expect(
            abs(theirs.mapping.target(at: clock.now).nanoseconds - clock.now.nanoseconds - (1 << 60) - 5_000_000) <= 2)
    }

    @Test func anAdjustmentChangesTheRateForASecondAndYieldsToAMaster() {
        let served = ServedTimeline(clock: clock)
        #expect(served.adjust(by: 40e-6))
        clock.advance(by: .milliseconds(500))
        #expect(served.instant(at: clock.now).nanoseconds - clock.now.nanoseconds == 20_000)
        #expect(served.adjust(by: -1e-3) && served.timeline.mapping.rateOffset == -ServedTimeline.largestBend)
        clock.advance(by: .seconds(100))
        #expect(served.instant(at: clock.now).nanoseconds - clock.now.nanoseconds == -80_000)
        #expect(served.timeline.isSteered && served.timeline.epoch == 0)
        served.adjust(master, of: speaker, at: mapping(ahead: 5), isPlaying: false)
        #expect(!served.adjust(by: 40e-6))
    }

    @Test func aSecondMasterIsTurnedAwayUntilTheFirstIsGone() {
        let served = ServedTimeline(clock: clock)
        served.adjust(master, of: speaker, at: mapping(ahead: 5), isPlaying: false)
        let second = ClockIdentity(rawValue: 43)
        #expect(!served.adjust(second, of: other, at: mapping(ahead: 9), isPlaying: false))
        #expect(!served.mayLead(second) && served.mayLead(master))
        #expect(served.adjust(master, of: other, at: mapping(ahead: 9), isPlaying: false), "the same one is no other")
        served.release(speaker)
        #expect(served.adjust(second, of: other, at: mapping(ahead: 9), isPlaying: false))
    }

    /// The served time approaches a master's; it never steps, and its rate is never off by more than 100 ppm.
    @Test func whileSoundPlaysTheMasterIsApproachedSlowly() throws {
        let served = ServedTimeline(clock: clock)
        served.adjust(master, of: speaker, at: mapping(ahead: 1000), isPlaying: false)
        let epoch = served.timeline.epoch
        var last = try #require(served.timeline(ofMaster: master)).mapping.target(at: clock.now)
        var ahead = 0.0
        for _ in 0..<8000 {
            clock.advance(by: .milliseconds(125))
            ahead += 125e6 * 50e-6
            // Two milliseconds off at first, and 50 ppm fast.
            let measured = mapping(ahead: 1000 + 2_000_000 + Int64(ahead), partsPerMillion: 50)
            served.adjust(master, of: speaker, at: measured, isPlaying: true)
            let now = try #require(served.timeline(ofMaster: master)).mapping.target(at: clock.now)
            let passed = now.nanoseconds - last.nanoseconds
            #expect(abs(Double(passed) / 125e6 - 1) <= 100.1e-6)
            last = now
        }
        #expect(abs(last.nanoseconds - clock.now.nanoseconds - 2_001_000 - Int64(ahead)) < 2000)
        #expect(served.timeline.epoch == epoch)
    }

    @Test func aMasterThatFallsSilentIsRememberedByItsRate() {
        let served = ServedTimeline(clock: clock)
        served.adjust(master, of: speaker, at: mapping(ahead: 0, partsPerMillion: 20), isPlaying: true)
        // Two milliseconds are corrected at the maximum rate, for a limited time.
        served.adjust(master, of: speaker, at: mapping(ahead: 2_000_000, partsPerMillion: 20), isPlaying: true)
        #expect(served.timeline.mapping.rateOffset == ServedTimeline.largestBend)
        let before = served.instant(at: clock.now)
        clock.advance(by: .seconds(101))
        let gained = before.duration(to: served.instant(at: clock.now)) - .seconds(101)
        #expect(abs(gained.inMilliseconds - (0.1 + 100 * 0.02)) < 1e-3)
        #expect(abs(served.timeline.mapping.rateOffset - 20e-6) < 1e-12)
    }

    @Test func aMasterStepInvalidatesEarlierMomentsOnly() throws {
        let served = ServedTimeline(clock: clock)
        served.adjust(master, of: speaker, at: mapping(ahead: 1000), isPlaying: true)
        let (epoch, ours) = (served.timeline.epoch, served.instant(at: clock.now))
        served.adjust(master, of: speaker, at: mapping(ahead: 3_000_001_000), isPlaying: true)
        #expect(served.timeline.epoch == epoch + 1)
        #expect(served.instant(at: clock.now) == ours)
        let theirs = try #require(served.timeline(ofMaster: master)).mapping.target(at: clock.now)
        #expect(theirs.nanoseconds == clock.now.nanoseconds + 3_000_001_000)
    }

    @Test func aSuspensionIsNoStepToThoseWhoAreServed() {
        let served = ServedTimeline(clock: clock)
        let (epoch, before) = (served.timeline.epoch, served.instant(at: clock.now))
        clock.suspend(for: .seconds(600))
        // During the suspension of this computer, ten minutes passed for the speakers.
        #expect(before.duration(to: served.instant(at: clock.now)) == .seconds(600))
        #expect(served.timeline.epoch == epoch + 1)
        clock.suspend(for: .milliseconds(20))
        #expect(served.timeline.epoch == epoch + 1, "no machine sleeps for so short")
    }

    @Test func absurdRatesAreHeld() {
        let served = ServedTimeline(clock: clock)
        for rate in [Double.nan, .infinity, -1, 1, 0.9e-3, -0.9e-3] {
            var measured = mapping(ahead: 7)
            measured.rateOffset = rate
            served.adjust(master, of: speaker, at: measured, isPlaying: false)
            #expect(abs(served.timeline.mapping.rateOffset) <= ServedTimeline.largestBend)
        }
    }
}
