import AirPlayWire
import MediaCore
import PTP
import Testing

@testable import AirPlay

/// Time is a number here: no socket, no thread.
@Suite struct RealtimePacingTests {
    private let origin = HostInstant(nanoseconds: 1_000_000_000_000)
    private func at(_ milliseconds: Int64) -> HostInstant { origin.advanced(by: .milliseconds(milliseconds)) }
    private func frame(_ seconds: Double) -> RTPTimestamp {
        RTPTimestamp(rawValue: .max).advanced(byFrames: Int64(seconds * 44100))
    }

    private func pacing(heardAt milliseconds: Int64) -> RealtimePacing {
        var pacing = RealtimePacing(sampleRate: 44100, depth: .milliseconds(600))
        pacing.begin(.init(position: frame(0), instant: at(milliseconds), timeline: nil), at: origin)
        return pacing
    }

    @Test func aPacketLeavesTheQueuesDepthBeforeItIsHeard() {
        let pacing = pacing(heardAt: 1000)
        #expect(pacing.verdict(on: frame(0), at: at(399)) == .wait(until: at(400)))
        #expect(pacing.verdict(on: frame(0), at: at(400)) == .send)
        #expect(pacing.verdict(on: frame(2), at: at(400)) == .wait(until: at(2400)))
        #expect(pacing.heard(frame(2)) == at(3000))
    }

    @Test func theQueueIsFilledAtOnceButNotInOneBurst() {
        var pacing = pacing(heardAt: 450)
        #expect(pacing.verdict(on: frame(0), at: origin) == .send)
        let isFirst = pacing.noteSent(at: origin)
        #expect(isFirst)
        #expect(pacing.verdict(on: frame(0.1), at: origin) == .wait(until: at(1)))
        #expect(pacing.verdict(on: frame(0.1), at: at(1)) == .send)
        let isFirstAgain = pacing.noteSent(at: at(1))
        #expect(!isFirstAgain)
    }

    @Test func whatWouldComeTooLateIsLeftOut() {
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

    @Test func everySyncPacketSaysTheSameLine() throws {
        let timeline = PTPTimeline(
            grandmaster: ClockIdentity(rawValue: 7),
            mapping: ClockMapping(sourceAnchor: origin, targetAnchor: PTPInstant(nanoseconds: 5)))
        for timeline in [timeline, nil] {
            var pacing = RealtimePacing(sampleRate: 44100, depth: .milliseconds(600))
            pacing.begin(.init(position: frame(0), instant: at(450), timeline: timeline), at: origin)
            for (index, moment) in [Int64(0), 1003, 2011, 3600].enumerated() {
                let due = pacing.sync(at: at(moment))
                let early = pacing.sync(at: at(moment))
                #expect(early == nil)
                let packet = try #require(due)
                guard case .sync(let position, let instant, let clock, let isFirst)? = RealtimeControl(packet[...])
                else {
                    Issue.record("not a sync packet")
                    return
                }
                #expect(isFirst == (index == 0))
                #expect(clock == timeline?.grandmaster.rawValue)
                let heard = try #require(pacing.heard(position))
                let said =
                    timeline.map { $0.mapping.source(at: instant) } ?? HostInstant(nanoseconds: instant.nanoseconds)
                #expect(said == heard)
                #expect(abs((heard - at(moment)).inMilliseconds) <= 10)
            }
        }
    }

    @Test func networkTimesReadBackToTheNanosecond() {
        for nanoseconds in [Int64(0), 1, 999_999_999, 1_000_000_000, 86_399_123_456_789] {
            let instant = PTPInstant(nanoseconds: nanoseconds)
            #expect(PTPInstant(networkTime: instant.networkTime) == instant)
        }
    }
}
