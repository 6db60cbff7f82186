import CardPlayout
import MediaCore
import Playback
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Suspension of the computer during playback: its monotonic clock stops while real time passes.
@Suite struct SuspensionTests {
    private func film(seconds: Int64) -> SyntheticFilm {
        SyntheticFilm(duration: MediaTime(value: seconds, timescale: 1), sampleRate: 3000)
    }

    @Test func afterASuspensionAudioAndVideoResumeTogetherAtThePosition() throws {
        let cinema = VirtualCinema(film: film(seconds: 20), sampleRate: 3000)
        cinema.run(for: .seconds(5))
        let before = cinema.synchronizer.currentTime()
        let shown = try #require(cinema.shown.last)
        cinema.clock.suspend(for: .seconds(3600))
        cinema.run(for: .milliseconds(100))
        #expect(cinema.suspensions == [.seconds(3600)])
        #expect(cinema.phase == .buffering)
        #expect(cinema.synchronizer.effectiveRate == 0)
        let held = cinema.synchronizer.currentTime()
        #expect((held - before).duration < .milliseconds(60), "noticed at the next turn")
        cinema.run(for: .seconds(2))
        #expect(cinema.phase == .playing)
        #expect(cinema.dropped == 0)
        // No frame is missing or repeated.
        let after = cinema.shown.drop { $0 <= shown }
        #expect(Array(after) == Array((shown + 1)..<(shown + 1 + after.count)))
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(30)))
        let pictures = cinema.pictureErrors.map { abs($0.inMilliseconds) }
        #expect(try #require(pictures.max()) < 1)
        // Fades change the encoded frame numbers.
        let sound = cinema.soundErrors.withLock { $0 }.map { abs($0.inMilliseconds) }.sorted()
        #expect(sound.count > 100)
        #expect(sound[sound.count * 98 / 100] < 1)
        #expect(cinema.messages.withLock { $0 }.isEmpty)
    }

    @Test func aFilmThatIsPausedStaysSo() {
        let cinema = VirtualCinema(film: film(seconds: 20), sampleRate: 3000)
        cinema.run(for: .seconds(2))
        cinema.core.pause()
        cinema.run(for: .seconds(1))
        let place = cinema.synchronizer.currentTime()
        cinema.clock.suspend(for: .seconds(60))
        cinema.run(for: .seconds(1))
        #expect(cinema.phase == .paused && cinema.suspensions.count == 1)
        #expect(cinema.synchronizer.currentTime() == place)
        cinema.core.play()
        cinema.run(for: .seconds(1))
        #expect(cinema.phase == .playing)
    }

    @Test func aPauseWhileTheFilmFindsItsFeetIsObeyed() {
        let cinema = VirtualCinema(film: film(seconds: 20), sampleRate: 3000)
        cinema.run(for: .seconds(2))
        cinema.clock.suspend(for: .seconds(60))
        cinema.run(for: .milliseconds(60))
        cinema.core.pause()
        cinema.run(for: .seconds(2))
        #expect(cinema.phase == .paused && cinema.synchronizer.effectiveRate == 0)
    }

    /// A speaker beside the card plays by its own clock: the timeline follows it, and card and video follow the
    /// timeline.
    @Test(arguments: [-50e-6, 50e-6])
    func cardAndPictureFollowTheLineOfASpeakerThatCannotBeMoved(bend: Double) throws {
        let cinema = VirtualCinema(film: film(seconds: 90), sampleRate: 3000)
        let line = Lock<TimebaseSegment?>(nil)
        let clock = cinema.clock
        cinema.card.held = {
            line.withLock { line in
                guard var held = line else { return nil }
                held.mediaAnchor = held.mediaTime(at: clock.now)
                held.hostAnchor = clock.now
                return held
            }
        }
        cinema.run(for: .seconds(3))
        let start = try #require(
            cinema.synchronizer.timebase.snapshot.segment(at: clock.now).hostInstant(of: .zero))
        let held = TimebaseSegment(mediaAnchor: .zero, hostAnchor: start, rate: 1 + bend, speed: 1)
        line.withLock { $0 = held }
        var worst = 0.0
        // At 50 ppm the two lines would be 3 ms apart at the end.
        for second in 0..<60 {
            cinema.run(for: .seconds(1))
            let away = cinema.synchronizer.currentTime() - held.mediaTime(at: clock.now)
            if second > 20 { worst = max(worst, abs(away.duration.inMilliseconds)) }
        }
        #expect(worst < 0.02)
        #expect(cinema.dropped == 0)
        #expect(try #require(cinema.pictureErrors.map { abs($0.inMilliseconds) }.max()) < 1)
        let sound = cinema.soundErrors.withLock { $0 }.map { abs($0.inMilliseconds) }.sorted()
        #expect(sound[sound.count * 98 / 100] < 1)
        #expect(cinema.card.playout?.underrunCount == 0)
        line.withLock { $0 = nil }
        cinema.run(for: .seconds(2))
        #expect(cinema.synchronizer.timebase.rate == 1, "nobody holds it any more")
    }
}
