import MediaCore
import Sockets
import SyncRendering
import TalkieTestKit
import Testing

@testable import AirPlay
@testable import AirPlayTransport
@testable import PTP

/// Minutes of playback in virtual time on a speaker that plays by its own clock.
@Suite struct ForeignMasterTests {
    private let peer = NetworkAddress("10.0.0.2")!
    private let identity = ClockIdentity(rawValue: 0xA1B2_C3FF_FED4_E5F6)

    /// Results of a run: video time minus audio time in microseconds, once a second.
    private struct Run {
        var errors: [Double] = []
        var boundaryErrors: [Double] = []
        var rates: [Double] = []

        /// Returns the slope of the errors after a second, in microseconds per minute.
        func trend(from second: Int) -> Double {
            let values = errors.enumerated().dropFirst(second)
            let count = Double(values.count)
            let (middle, mean) = (
                values.reduce(0) { $0 + Double($1.offset) } / count, values.reduce(0) { $0 + $1.element } / count
            )
            let square = values.reduce(0) { $0 + ($1.offset.double - middle) * ($1.offset.double - middle) }
            return values.reduce(0) { $0 + ($1.offset.double - middle) * ($1.element - mean) } / square * 60
        }
    }

    /// Plays on a speaker with a foreign clock, and on one that follows the served time.
    private func play(_ foreign: ForeignClock, for seconds: Int, clock: ManualClock = ManualClock()) throws -> Run {
        var foreign = foreign
        var observer = MasterObserver()
        let served = ServedTimeline(clock: clock)
        let synchronizer = RenderSynchronizer(clock: clock)
        var (sentAnchor, beside): (SentAnchor?, SentAnchor?) = (nil, nil)
        var run = Run()
        for beat in 0..<(seconds * 8) {
            receive(foreign.exchange(at: clock.now), UInt16(truncatingIfNeeded: beat), &observer)
            clock.advance(by: .milliseconds(125))
            if let mapping = observer.mapping(at: clock.now, fallbackPath: .zero) {
                served.adjust(identity, of: peer, at: mapping, isPlaying: sentAnchor != nil)
            }
            if beat == 12 {
                let start = clock.now.advanced(by: .milliseconds(500))
                let snapshot = synchronizer.setRate(1, time: .zero, atHostTime: start)
                let theirs = try #require(served.timeline(ofMaster: identity))
                func line(_ timeline: PTPTimeline) -> SentAnchor {
                    SentAnchor(
                        media: .zero, position: RTPTimestamp(rawValue: 0), instant: timeline.mapping.target(at: start),
                        speed: 1, epoch: timeline.epoch, generation: snapshot.generation, delay: .zero)
                }
                (sentAnchor, beside) = (line(theirs), line(served.timeline))
            }
            guard let sentAnchor, let beside else { continue }
            if beat % 4 == 0, let theirs = served.timeline(ofMaster: identity),
                let held = sentAnchor.segment(on: theirs, at: clock.now)
            {
                synchronizer.steer(toward: held)
            }
            guard beat % 8 == 0, synchronizer.effectiveRate > 0 else { continue }
            // Ground truth: the speaker's clock and the anchor that it was sent.
            let heard = sentAnchor.media.advanced(by: sentAnchor.instant.duration(to: foreign.time(at: clock.now)))
            let seen = synchronizer.currentTime()
            run.errors.append(Double((seen - heard).nanoseconds) / 1e3)
            let ours = beside.media.advanced(by: beside.instant.duration(to: served.instant(at: clock.now)))
            run.boundaryErrors.append(Double((seen - ours).nanoseconds) / 1e3)
            run.rates.append(synchronizer.timebase.snapshot.segment(at: clock.now).rate)
        }
        return run
    }

    private func receive(_ word: ForeignClock.Exchange, _ sequence: UInt16, _ observer: inout MasterObserver) {
        func header(_ type: PTPMessageType) -> PTPHeader {
            PTPHeader(
                type: type, flags: 0, correction: 0, source: PortIdentity(clock: identity, port: 1),
                sequence: sequence, control: 0, logInterval: 0xFD)
        }
        observer.recordSync(header(.sync), received: word.came)
        _ = observer.recordFollowUp(header(.followUp), origin: PTPTimestamp(word.left), at: word.came)
        let own = ClockIdentity(rawValue: 1)
        observer.recordDelayRequest(sequence, sent: word.asked, by: own)
        observer.recordDelayResponse(
            header(.delayResponse), received: PTPTimestamp(word.heard), to: PortIdentity(clock: own, port: 0x8005),
            at: word.answered)
    }

    @Test(arguments: [-50.0, 0, 50])
    func pictureStaysWithTheSoundOfASpeakerThatPlaysByItsOwnClock(partsPerMillion: Double) throws {
        let run = try play(ForeignClock(partsPerMillion: partsPerMillion), for: 600)
        let settled = run.errors.dropFirst(10).map(abs)
        let trend = run.trend(from: 30)
        print(
            "foreign master \(partsPerMillion) ppm: worst \(run.errors.map(abs).max() ?? 0) µs in ten minutes,",
            "\(settled.max() ?? 0) µs after ten seconds, trend \(trend) µs a minute")
        #expect(run.errors.count > 590)
        #expect(run.errors.allSatisfy { abs($0) < 500 })
        #expect(settled.allSatisfy { $0 < 200 })
        #expect(abs(trend) < 20)
        #expect(run.rates.allSatisfy { abs($0 - 1) <= RenderSynchronizer.largestBend * 1.0001 })
        #expect(run.boundaryErrors.allSatisfy { abs($0) < 60 }, "a speaker beside it follows by way of us")
    }

    @Test func onABadNetworkTheyStayWithinTheEyesReach() throws {
        var foreign = ForeignClock(partsPerMillion: 50)
        (foreign.way, foreign.jitter) = (.milliseconds(3), .milliseconds(4))
        let run = try play(foreign, for: 600)
        print(
            "foreign master 50 ppm, 3 ms away, 4 to 40 ms of jitter: worst \(run.errors.map(abs).max() ?? 0) µs,",
            "trend \(run.trend(from: 60)) µs a minute")
        #expect(run.errors.allSatisfy { abs($0) < 4000 })
        #expect(abs(run.trend(from: 60)) < 100)
    }

    @Test func aSentAnchorIsComparedOnItsOwnClock() {
        let now = HostInstant(nanoseconds: 5_000_000_000_000)
        let timeline = PTPTimeline(
            grandmaster: identity,
            mapping: ClockMapping(
                sourceAnchor: now, targetAnchor: PTPInstant(nanoseconds: 77), rateOffset: 50e-6), epoch: 3,
            isSteered: true)
        let sentAnchor = SentAnchor(
            media: MediaTime(value: 10, timescale: 1), position: RTPTimestamp(rawValue: 0),
            instant: PTPInstant(nanoseconds: 77), speed: 1, epoch: 3, generation: 1, delay: .zero)
        let same = TimebaseSegment(
            mediaAnchor: MediaTime(value: 10, timescale: 1), hostAnchor: now, rate: 1.00005, speed: 1)
        #expect(sentAnchor.distance(to: same, on: timeline, at: now.advanced(by: .seconds(100))) < .microseconds(1))
        // Without steering the timeline is off by 5 ms after 100 s.
        let straight = TimebaseSegment(mediaAnchor: MediaTime(value: 10, timescale: 1), hostAnchor: now, rate: 1)
        let away = sentAnchor.distance(to: straight, on: timeline, at: now.advanced(by: .seconds(100)))
        #expect(abs(away.inMilliseconds - 5) < 0.01)
        let faster = TimebaseSegment(mediaAnchor: .zero, hostAnchor: now, rate: 2)
        #expect(sentAnchor.distance(to: faster, on: timeline, at: now) > .seconds(60))
        var other = timeline
        other = PTPTimeline(grandmaster: identity, mapping: other.mapping, epoch: 4, isSteered: true)
        #expect(sentAnchor.segment(on: other, at: now) == nil, "a master that stepped makes it void")
    }
}

extension Int { fileprivate var double: Double { Double(self) } }
