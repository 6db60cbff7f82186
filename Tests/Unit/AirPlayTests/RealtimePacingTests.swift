import AirPlayWire
import MediaCore
import PTP
import Testing

@testable import AirPlay
@testable import AirPlayTransport

/// Virtual time: no socket, no thread.
@Suite struct RealtimePacingTests {
    private let origin = HostInstant(nanoseconds: 1_000_000_000_000)
    private func at(_ milliseconds: Int64) -> HostInstant { origin.advanced(by: .milliseconds(milliseconds)) }
    private func frame(_ seconds: Double) -> RTPTimestamp {
        RTPTimestamp(rawValue: .max).advanced(byFrames: Int64(seconds * 44100))
    }

    private func pacing(heardAt milliseconds: Int64) -> RealtimePacing {
        var pacing = RealtimePacing(sampleRate: 44100, depth: .milliseconds(600))
        pacing.begin(
            .init(position: frame(0), instant: PTPInstant(nanoseconds: at(milliseconds).nanoseconds), grandmaster: nil),
            at: origin)
        return pacing
    }

    @Test func aPacketLeavesTheQueuesDepthBeforeItIsHeard() {
        let pacing = pacing(heardAt: 1000)
        #expect(pacing.verdict(on: frame(0), at: at(399)) == .wait(until: at(400)))
        #expect(pacing.verdict(on: frame(0), at: at(400)) == .send)
        #expect(pacing.verdict(on: frame(2), at: at(400)) == .wait(until: at(2400)))
        #expect(pacing.audibleInstant(of: frame(2)) == at(3000))
    }

    @Test func theQueueIsFilledAtOnceButNotInOneBurst() {
        var pacing = pacing(heardAt: 450)
        #expect(pacing.verdict(on: frame(0), at: origin) == .send)
        let isFirst = pacing.recordSent(at: origin)
        #expect(isFirst)
        #expect(pacing.verdict(on: frame(0.1), at: origin) == .wait(until: at(1)))
        #expect(pacing.verdict(on: frame(0.1), at: at(1)) == .send)
        let isFirstAgain = pacing.recordSent(at: at(1))
        #expect(!isFirstAgain)
    }

    @Test func packetsThatWouldArriveLateAreSkipped() {
        let pacing = pacing(heardAt: 100)
        #expect(pacing.verdict(on: frame(0), at: at(61)) == .leaveOut)
        #expect(pacing.verdict(on: frame(0), at: at(60)) == .send)
    }

    @Test func withoutALineNothingLeaves() {
        var pacing = pacing(heardAt: 100)
        pacing.begin(nil, at: at(10))
        guard case .wait = pacing.verdict(on: frame(0), at: at(20)) else { return #expect(Bool(false)) }
        let sync = pacing.sync(at: at(20))
        #expect(sync == nil)
    }

    /// A clock that is 50 ppm fast since long ago. Sent anchors stay valid, and packets are scheduled by the current
    /// mapping.
    @Test(arguments: [0, 50e-6])
    func everySyncPacketSaysTheSameLine(rateOffset: Double) throws {
        for grandmaster in [ClockIdentity(rawValue: 7), nil] {
            let mapping = ClockMapping(
                sourceAnchor: origin, targetAnchor: PTPInstant(nanoseconds: 5_000_000_000_000), rateOffset: rateOffset)
            var pacing = RealtimePacing(sampleRate: 44100, depth: .milliseconds(600), mapping: mapping)
            let moment = mapping.target(at: at(450))
            pacing.begin(.init(position: frame(0), instant: moment, grandmaster: grandmaster), at: origin)
            for (index, instant) in [Int64(0), 1003, 2011, 3600, 3_600_000].enumerated() {
                let due = pacing.sync(at: at(instant))
                let early = pacing.sync(at: at(instant))
                #expect(early == nil)
                let packet = try #require(due)
                guard case .sync(let position, let said, let clock, let isFirst)? = RealtimeControl(packet[...])
                else {
                    Issue.record("not a sync packet")
                    return
                }
                #expect(isFirst == (index == 0))
                #expect(clock == grandmaster?.rawValue)
                // On the speaker's clock frames pass at the nominal rate, regardless of the rate of ours.
                let frames = frame(0).distance(to: position)
                let expected = moment.advanced(by: .nanoseconds(Int64(frames) * 1_000_000_000 / 44100))
                #expect(abs(said.nanoseconds - expected.nanoseconds) <= 1)
                let heard = try #require(pacing.audibleInstant(of: position))
                #expect(abs(mapping.target(at: heard).nanoseconds - said.nanoseconds) <= 2)
                #expect(abs((heard - at(instant)).inMilliseconds) <= 10.1)
            }
        }
    }

    @Test func aLineOnAClockThatIsAnotherByNowSaysNothing() {
        var pacing = RealtimePacing(sampleRate: 48000, depth: .milliseconds(600))
        pacing.begin(
            .init(
                position: frame(0), instant: PTPInstant(nanoseconds: 1 << 62), grandmaster: ClockIdentity(rawValue: 7)),
            at: origin)
        #expect(pacing.sync(at: at(20)) == nil)
        #expect(pacing.verdict(on: frame(0), at: at(20)) != .send)
    }

    @Test func networkTimesReadBackToTheNanosecond() {
        for nanoseconds in [Int64(0), 1, 999_999_999, 1_000_000_000, 86_399_123_456_789] {
            let instant = PTPInstant(nanoseconds: nanoseconds)
            #expect(PTPInstant(networkTime: instant.networkTime) == instant)
        }
    }
}
