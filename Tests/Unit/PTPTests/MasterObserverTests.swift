import MediaCore
import TalkieTestKit
import Testing

@testable import PTP

/// Measures a foreign master in virtual time: every number is reproducible.
@Suite struct MasterObserverTests {
    private let origin = HostInstant(nanoseconds: 1_000_000_000_000)
    private func at(_ seconds: Double) -> HostInstant { origin.advanced(by: .nanoseconds(Int64(seconds * 1e9))) }

    /// Observes eight Syncs per second over an interval in seconds.
    private func listen(
        _ observer: inout MasterObserver, to master: inout SimulatedMaster, from: Double, until: Double
    ) {
        var moment = from
        while moment < until {
            master.speak(to: &observer, at: at(moment))
            moment += 0.125
        }
    }

    /// Returns the estimated time minus the true one, in microseconds.
    private func error(_ observer: MasterObserver, _ master: SimulatedMaster, at seconds: Double) throws -> Double {
        let mapping = try #require(observer.mapping(at: at(seconds), fallbackPath: .zero))
        return Double(mapping.target(at: at(seconds)).nanoseconds - master.clock.time(at: at(seconds)).nanoseconds)
            / 1e3
    }

    @Test func aMasterIsUsableAfterSixTenthsOfASecond() {
        var (observer, master) = (MasterObserver(), SimulatedMaster())
        listen(&observer, to: &master, from: 0, until: 0.5)
        #expect(observer.lockedSince == nil)
        listen(&observer, to: &master, from: 0.5, until: 0.8)
        #expect(observer.lockedSince != nil)
        #expect(observer.grandmaster == master.identity)
    }

    @Test(arguments: [-50.0, 0, 50, 90])
    func rateAndTimeOfAMasterAreFoundThroughJitter(partsPerMillion: Double) throws {
        var (observer, master) = (MasterObserver(), SimulatedMaster())
        master.clock.partsPerMillion = partsPerMillion
        listen(&observer, to: &master, from: 0, until: 60)
        #expect(abs(try error(observer, master, at: 60)) < 100)
        let mapping = try #require(observer.mapping(at: at(60), fallbackPath: .zero))
        #expect(abs(mapping.rateOffset * 1e6 - partsPerMillion) < 2)
        let path = try #require(observer.measuredPath)
        #expect(abs(path.inMilliseconds - 0.85) < 0.2, "\(path)")
        #expect(mapping.uncertainty < .milliseconds(1))
    }

    @Test func aMasterThatAnswersNoQuestionIsLateByTheWayUnlessThatIsKnown() throws {
        var (observer, master) = (MasterObserver(), SimulatedMaster())
        master.answers = false
        listen(&observer, to: &master, from: 0, until: 20)
        #expect(try error(observer, master, at: 20) < -700)
        let known = try #require(observer.mapping(at: at(20), fallbackPath: .microseconds(800)))
        #expect(abs(known.target(at: at(20)).nanoseconds - master.clock.time(at: at(20)).nanoseconds) < 150_000)
    }

    @Test func aMasterThatIsInterruptedBeforeItReadsItsClockIsNotBelievedToBeQuick() throws {
        var (observer, master) = (MasterObserver(), SimulatedMaster())
        (master.clock.partsPerMillion, master.clock.interruptions) = (50, 0.05)
        listen(&observer, to: &master, from: 0, until: 60)
        for second in stride(from: 60.0, to: 120, by: 5) {
            #expect(abs(try error(observer, master, at: second)) < 200)
            listen(&observer, to: &master, from: second, until: second + 5)
        }
    }

    @Test func timesThatContradictTheClockLineAreIgnored() throws {
        var (observer, master) = (MasterObserver(), SimulatedMaster())
        listen(&observer, to: &master, from: 0, until: 10)
        let since = observer.lockedSince
        var liar = master
        var moment = 10.0
        while moment < 20 {
            // Between two true messages there is a forged one from the same sender, each with a different offset.
            master.speak(to: &observer, at: at(moment))
            liar.clock.offset = master.clock.offset &+ Int64(moment * 7e8)
            liar.speak(to: &observer, at: at(moment + 0.06))
            moment += 0.125
        }
        #expect(abs(try error(observer, master, at: 20)) < 150)
        #expect(observer.lockedSince == since)
    }

    @Test(arguments: [3.0, -3, 0.05])
    func aMasterWhoseTimeStepsIsMeasuredAgain(step: Double) throws {
        var (observer, master) = (MasterObserver(), SimulatedMaster())
        listen(&observer, to: &master, from: 0, until: 20)
        let since = try #require(observer.lockedSince)
        master.clock.offset += Int64(step * 1e9)
        listen(&observer, to: &master, from: 20, until: 21)
        #expect(observer.lockedSince == since, "one second of contradiction is not believed")
        listen(&observer, to: &master, from: 21, until: 30)
        #expect(try #require(observer.lockedSince) > since)
        #expect(abs(try error(observer, master, at: 30)) < 200)
    }

    @Test func anotherClockTakesOverOnlyWhenTheFirstIsSilent() throws {
        var (observer, master) = (MasterObserver(), SimulatedMaster())
        listen(&observer, to: &master, from: 0, until: 5)
        var other = SimulatedMaster()
        other.identity = ClockIdentity(rawValue: 99)
        other.clock.offset = 0
        var moment = 5.0
        while moment < 10 {
            master.speak(to: &observer, at: at(moment))
            other.speak(to: &observer, at: at(moment + 0.03))
            moment += 0.125
        }
        #expect(observer.grandmaster == master.identity)
        #expect(abs(try error(observer, master, at: 10)) < 150)
        listen(&observer, to: &other, from: 10, until: 14)
        #expect(observer.grandmaster == other.identity)
        #expect(abs(try error(observer, other, at: 14)) < 300)
    }

    @Test func anchorsNameTheMasterThatTheSpeakerAnnounces() {
        var (observer, master) = (MasterObserver(), SimulatedMaster())
        let partner = ClockIdentity(rawValue: 0x77)
        let header = PTPHeader(
            type: .announce, flags: 0, correction: 0, source: PortIdentity(clock: master.identity, port: 1),
            sequence: 1, control: 0, logInterval: 0)
        observer.recordAnnounce(.sender(partner), from: header, at: at(0))
        listen(&observer, to: &master, from: 0, until: 1)
        #expect(observer.grandmaster == partner)
        // A single announcement of another master changes nothing.
        observer.recordAnnounce(.sender(ClockIdentity(rawValue: 3)), from: header, at: at(5))
        #expect(observer.grandmaster == partner)
    }

    @Test func anyTimesAtAllKeepTheLineWithinItsBounds() {
        var random: UInt64 = 88_172_645_463_325_252
        func draw() -> UInt64 {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return random
        }
        for _ in 0..<200 {
            var observer = MasterObserver()
            var now = origin
            for index in 0..<200 {
                now = now.advanced(by: .nanoseconds(Int64(draw() % 400_000_000) - 10_000_000))
                let clock = ClockIdentity(rawValue: draw() % 3)
                let header = PTPHeader(
                    type: .sync, flags: 0, correction: Int64(bitPattern: draw() >> (draw() % 64)),
                    source: PortIdentity(clock: clock, port: 1), sequence: UInt16(index), control: 0, logInterval: 0)
                observer.recordSync(header, received: now)
                let time = PTPTimestamp(
                    seconds: draw() >> (16 + draw() % 48), nanoseconds: UInt32(draw() % 2_000_000_000))
                _ = observer.recordFollowUp(header, origin: time, at: now)
                observer.recordDelayRequest(UInt16(index), sent: now, by: clock)
                observer.recordDelayResponse(header, received: time, to: PortIdentity(clock: clock, port: 1), at: now)
                if let mapping = observer.mapping(at: now, fallbackPath: .zero) {
                    #expect(abs(mapping.rateOffset) <= MasterClockFilter.largestRate)
                    _ = mapping.source(at: mapping.target(at: now))
                }
            }
        }
    }
}
