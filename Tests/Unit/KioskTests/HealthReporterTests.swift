import MediaCore
import SyncRendering
import Testing

@testable import Kiosk
@testable import Telemetry

/// What the health of a kiosk says of an observation.
@Suite struct HealthReporterTests {
    private let start = HostInstant(nanoseconds: 1_000_000_000_000)
    private var reporter: HealthReporter

    init() { reporter = HealthReporter(at: start, wall: WallTime(seconds: 1_700_000_000)) }

    private func at(_ second: Int) -> HostInstant { start.advanced(by: .seconds(second)) }

    private func seen(_ change: (inout HealthReporter.Observation) -> Void = { _ in }) -> HealthReporter.Observation {
        var seen = HealthReporter.Observation(shown: .playing)
        change(&seen)
        return seen
    }

    @Test mutating func aMissingWindowComesBeforeAStall() {
        let seen = seen {
            $0.isWindowVisible = false
            $0.stall = (.frozen, start)
        }
        #expect(
            reporter.health(of: seen, at: at(2)).fault == "the position in the film does not advance for 2 s")
        #expect(
            reporter.health(of: seen, at: at(5)).fault == "no display: no visible window for 3 s")
    }

    @Test mutating func howMuchALostSpeakerHoldsIsNotKnown() {
        var (playing, lost) = (OutputStatistics(OutputID(1)), OutputStatistics(OutputID(2)))
        (playing.buffered, playing.error) = (.seconds(199), .milliseconds(2))
        (lost.buffered, lost.isLost, lost.underruns) = (.seconds(199), true, 1)
        let health = reporter.health(
            of: seen { $0.outputs = [("Kitchen", playing), ("Hall", lost), ("Office", nil)] }, at: at(1))
        #expect(health.outputs.map(\.name) == ["Kitchen", "Hall", "Office"])
        #expect(health.outputs.map(\.buffered) == [.seconds(199), nil, nil])
        #expect(health.outputs.map(\.isConnected) == [true, false, true])
        #expect(health.outputs[1].underruns == 1 && health.outputs[0].error == .milliseconds(2))
    }

    @Test mutating func soundAgesWhileNoOutputIsConnected() {
        #expect(reporter.health(of: seen { $0.lastAudio = at(1) }, at: at(2)).sinceAudio == .seconds(1))
        #expect(reporter.health(of: seen(), at: at(9)).sinceAudio == .seconds(8))
    }

    @Test mutating func aWallThatSkipsFilmsSaysThatItIsNotInStep() {
        let skipping = seen {
            $0.outputProblems = ["Kitchen does not play"]
            $0.skippedItems = ["'a.mp4' is skipped"]
        }
        var health = reporter.health(of: skipping, at: at(1))
        #expect(health.degradations == ["Kitchen does not play", "'a.mp4' is skipped"] && health.skippedItems == 1)
        var wall = skipping
        wall.isWall = true
        health = reporter.health(of: wall, at: at(2))
        #expect(
            health.degradations.last == "this screen is out of sync with its wall while it skips films of the list")
        wall.skippedItems = []
        #expect(reporter.health(of: wall, at: at(3)).degradations == ["Kitchen does not play"])
    }

    @Test mutating func aConfigurationThatWasRefusedIsReportedUntilAGoodOneCame() {
        reporter.recordRefusal("line 3: no such key")
        var configuration = reporter.health(of: seen(), at: at(1)).configuration
        #expect(configuration.refusals == 1 && configuration.refusal == "line 3: no such key")
        reporter.recordConfiguration(at: WallTime(seconds: 1_700_000_100))
        configuration = reporter.health(of: seen(), at: at(2)).configuration
        #expect(configuration.refusals == 1 && configuration.refusal == nil)
        #expect(configuration.loaded == WallTime(seconds: 1_700_000_100))
    }

    @Test mutating func theItemThatStartedLastHasAPositionWhileItPlays() {
        reporter.setItem(KioskHealth.Item("a.mp4", index: 1, began: WallTime(seconds: 1_700_000_000)))
        let position = MediaTime(value: 7, timescale: 1)
        let health = reporter.health(of: seen { $0.position = position }, at: at(60))
        #expect(health.item?.position == position && health.uptime == .seconds(60))
        let paused = reporter.health(of: seen(), at: at(61))
        #expect(paused.item?.name == "a.mp4" && paused.item?.position == nil)
    }
}
