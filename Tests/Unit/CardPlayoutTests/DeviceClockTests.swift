import MediaCore
import Testing

@testable import CardPlayout

/// When a card's position is accepted after a start.
@Suite struct DeviceClockTests {
    /// Adds a reading every 5 ms. `position` returns the card's position in milliseconds for a time in milliseconds; a
    /// frame is 1/48 ms.
    static func clock(_ position: (Double) -> Double, until end: Double) -> (DeviceClock, steadyAt: Double?) {
        var clock = DeviceClock(sampleRate: 48_000)
        var steadyAt: Double?
        var time = 0.0
        while time <= end {
            clock.add(
                position: DeviceFrame(Int64((position(time) * 48).rounded())),
                at: HostInstant(nanoseconds: 1_000_000_000 + Int64(time * 1e6)))
            if clock.isSteady, steadyAt == nil { steadyAt = time }
            time += 5
        }
        return (clock, steadyAt)
    }

    /// A sound server may state any number.
    @Test(arguments: [Int.max, .min]) func aDelayOfAnySizeIsBounded(_ delay: Int) {
        let reading = PlayoutDeviceReading(state: .running, free: 0, delay: delay, instant: .now)
        #expect(reading.delay.magnitude == PlayoutDeviceReading.maxDelay.magnitude)
        #expect(Duration.seconds(Double(reading.delay) / 8000) < .seconds(1441))
    }

    @Test func aCardThatReportsCorrectlyIsTrustedAfterFortyMilliseconds() throws {
        let (_, steadyAt) = Self.clock({ $0 - 30 }, until: 300)
        #expect(try #require(steadyAt) <= 45)
    }

    @Test func aPositionThatOvershootsAndStallsIsTrustedOnceCorrect() throws {
        // PulseAudio with its own resampler: 47 ms ahead for 35 ms, then constant until it is correct.
        let (clock, steadyAt) = Self.clock({ $0 < 35 ? $0 + 17 : max(52, $0 - 30) }, until: 130)
        #expect(try #require(steadyAt) >= 82 + 40)
        let estimate = try #require(clock.estimate)
        let heard = estimate.instant(of: DeviceFrame(48 * 100))
        #expect(abs((heard - HostInstant(nanoseconds: 1_130_000_000)).inMilliseconds) < 0.5)
    }

    @Test func aCardWhoseFigureAlwaysJumpsIsBelievedAfterAQuarterOfASecond() throws {
        let (_, steadyAt) = Self.clock({ ($0 / 20).rounded(.down) * 20 - 30 }, until: 400)
        #expect(abs(try #require(steadyAt) - 260) <= 15)
    }

    @Test func whatWasBelievedBeforeAResetIsNotBelievedAfterIt() {
        var (clock, _) = Self.clock({ $0 }, until: 100)
        #expect(clock.isSteady)
        clock.reset()
        #expect(!clock.isSteady)
    }
}

extension DeviceClockTests {
    /// Returns the error of the estimate in milliseconds, at the end of a run in which a card's position is `truth` and
    /// its reading is off by `noise`.
    static func error(until end: Double, truth: (Double) -> Double, noise: (Double) -> Double) throws -> Double {
        let (clock, _) = Self.clock({ truth($0) + noise($0) }, until: end)
        let instant = try #require(clock.estimate).instant(of: DeviceFrame(Int64((truth(end) * 48).rounded())))
        return (instant - HostInstant(nanoseconds: 1_000_000_000 + Int64(end * 1e6))).inMilliseconds
    }

    /// Varies by two milliseconds within three seconds, as readings of a busy server do.
    static func wander(_ time: Double) -> Double { 2 * abs((time / 1500).truncatingRemainder(dividingBy: 2) - 1) }

    @Test(arguments: [(90.0, 2500.0), (300, 2500), (25, 4000)])
    func aHoleThatAServerLeavesIsFollowedWithinSeconds(hole: Double, within: Double) throws {
        let late = try Self.error(
            until: 20_000 + within, truth: { $0 < 20_000 ? $0 : $0 - hole }, noise: Self.wander)
        #expect(abs(late) < 3)
    }

    /// PulseAudio after a stall during a start: its readings agree for 0.6 s, move by 3.4 ms per second beyond the true
    /// position, return with each update of its estimate, and never agree for seconds.
    @Test(arguments: [5.0, 8, -9])
    func readingsThatAgreedWhileAStreamStartedAreNotBelievedAgainstLaterOnes(wrong: Double) throws {
        let late = try Self.error(until: 20_000, truth: { $0 }) { time in
            guard time >= 600 else { return wrong }
            let moved = wrong * (1 - (time - 600) / 1500)
            let rest = 0.6 * (2 * (time / 1500).truncatingRemainder(dividingBy: 1) - 1)
            return time < 3600 ? moved : time < 7000 ? moved * (7000 - time) / 3400 : rest
        }
        #expect(abs(late) < 1)
    }

    @Test func aFigureThatWandersByEightMillisecondsAndComesBackIsNotFollowed() throws {
        for end in stride(from: 20_500.0, through: 32_000, by: 500) {
            let late = try Self.error(
                until: end, truth: { $0 },
                noise: { $0 < 20_000 ? 0 : $0 < 24_000 ? ($0 - 20_000) / 500 : max(0, 8 - ($0 - 24_000) / 1000) })
            #expect(abs(late) < 1.5, "after \(end) ms")
        }
    }
}
