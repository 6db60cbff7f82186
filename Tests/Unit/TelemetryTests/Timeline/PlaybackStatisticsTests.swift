import MediaCore
import Testing

@testable import SyncRendering
@testable import Telemetry

@Suite struct PlaybackStatisticsTests {
    private var statistics = PlaybackStatistics()

    private func instant(_ milliseconds: Int) -> HostInstant {
        HostInstant(nanoseconds: Int64(milliseconds) * 1_000_000)
    }

    private mutating func record(_ event: RenderEvent, at milliseconds: Int = 0) {
        statistics.add(EventLog.Entry(at: instant(milliseconds), event: event))
    }

    private mutating func frame(due: Int, shown: Int) {
        record(.frame(pts: .zero, target: instant(due), presented: instant(shown)), at: shown)
    }

    @Test mutating func theOffsetIsPositiveWhenSoundIsLaterThanPicture() {
        record(.anchor(media: .zero, host: instant(100), rate: 1, generation: 1), at: 0)
        frame(due: 200, shown: 203)
        #expect(statistics.offset == nil)
        record(.audioDrift(error: .milliseconds(10), correctionPPM: 0, output: OutputID(0)), at: 210)
        #expect(statistics.offset == .milliseconds(7))
    }

    @Test mutating func framesShownWhileTimeIsStoppedDoNotCountAsLate() {
        record(.anchor(media: .zero, host: instant(1000), rate: 1, generation: 1), at: 0)
        frame(due: 10, shown: 500)
        #expect(statistics.videoError == nil)
        #expect(statistics.shownFrames == 1)
        frame(due: 1042, shown: 1043)
        #expect(statistics.videoError == .milliseconds(1))
    }

    @Test mutating func aJumpForgetsWhatWasTrueBefore() {
        record(.anchor(media: .zero, host: instant(0), rate: 1, generation: 1), at: 0)
        frame(due: 40, shown: 60)
        record(.audioDrift(error: .milliseconds(5), correctionPPM: 0, output: OutputID(0)), at: 70)
        record(.anchor(media: .zero, host: instant(100), rate: 1, generation: 2), at: 80)
        #expect(statistics.offset == nil && statistics.videoError == nil && statistics.audioError == nil)
    }

    @Test mutating func theFirstOutputSpeaksForAllUntilItIsLost() {
        record(.audioDrift(error: .milliseconds(9), correctionPPM: 0, output: OutputID(1)))
        #expect(statistics.audioError == .milliseconds(9))
        record(.audioDrift(error: .milliseconds(1), correctionPPM: 0, output: OutputID(0)))
        record(.audioDrift(error: .milliseconds(8), correctionPPM: 0, output: OutputID(1)))
        #expect(statistics.audioError == .milliseconds(1))
        record(.outputLost(output: OutputID(0)))
        record(.audioDrift(error: .milliseconds(7), correctionPPM: 0, output: OutputID(1)))
        #expect(statistics.audioError == .milliseconds(7))
    }
}
