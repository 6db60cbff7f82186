import MediaCore
import SyncRendering
import Testing

/// When a card's position may be believed after a start.
@Suite struct DeviceClockTests {
    /// Feeds readings every 5 ms: for each, where the card says it is, in frames of 1/48 ms of film.
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

    @Test func aCardThatTellsTheTruthFromTheStartIsBelievedAfterFortyMilliseconds() throws {
        let (_, steadyAt) = Self.clock({ $0 - 30 }, until: 300)
        #expect(try #require(steadyAt) <= 45)
    }

    @Test func aPositionThatRunsAheadThenStandsStillIsBelievedOnlyOnceItIsTrue() throws {
        // PulseAudio with its own resampler: 47 ms ahead for 35 ms, then still until it is true.
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
