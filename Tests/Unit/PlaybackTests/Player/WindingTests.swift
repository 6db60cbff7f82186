import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Relative seeks in films with keyframes at the distance of x264's default, and farther apart.
@Suite struct WindingTests {
    private func second(_ count: Int64) -> MediaTime { MediaTime(value: count, timescale: 1) }

    /// 25 frames per second; a sample rate of 3 kHz keeps the tests short without affecting what they check.
    private func cinema(
        syncEvery seconds: Int64, lasting length: Int64 = 1000, options: PlayerOptions = PlayerOptions()
    ) -> VirtualCinema {
        let film = SyntheticFilm(
            duration: second(length), frame: MediaTime(value: 1, timescale: 25), sampleRate: 3000,
            syncInterval: seconds * 25)
        let cinema = VirtualCinema(film: film, options: options, sampleRate: 3000)
        cinema.run(for: .milliseconds(2200))
        return cinema
    }

    /// Chapters at 10, 60 and 90 s of a film of 100 s.
    private func chaptered() -> VirtualCinema {
        let film = SyntheticFilm(
            duration: second(100), frame: MediaTime(value: 1, timescale: 25), sampleRate: 3000, syncInterval: 250,
            chapters: [(10, "One"), (60, nil), (90, "Three")].map { Chapter(start: second($0.0), title: $0.1) })
        let cinema = VirtualCinema(film: film, options: PlayerOptions(), sampleRate: 3000)
        cinema.run(for: .milliseconds(2200))
        return cinema
    }

    private func turnChapters(_ cinema: VirtualCinema, _ count: Int) -> Int? {
        let before = cinema.shown.count
        cinema.core.seek(byChapters: count)
        cinema.run(for: .milliseconds(300))
        return cinema.shown.dropFirst(before).first
    }

    @Test func chaptersAreGoneToExactly() {
        let cinema = chaptered()
        #expect(turnChapters(cinema, 1) == 250)
        #expect(turnChapters(cinema, 1) == 1500)
        #expect(turnChapters(cinema, -1) == 250)
        #expect(turnChapters(cinema, 2) == 2250)
        #expect(cinema.core.state.chapters.count == 3)
    }

    @Test func goingBackInTheMiddleOfAChapterBeginsItAgain() {
        let cinema = chaptered()
        cinema.core.seek(to: second(80), exact: true)
        cinema.run(for: .milliseconds(300))
        #expect(turnChapters(cinema, -1) == 1500)
        #expect(turnChapters(cinema, -1) == 250)
        // Before the first chapter there is the film's start.
        #expect(turnChapters(cinema, -1) == 0)
        #expect(turnChapters(cinema, -1) == 0)
    }

    @Test func behindTheLastChapterTheFilmIsOver() {
        let cinema = chaptered()
        cinema.core.seek(to: second(95), exact: true)
        cinema.run(for: .milliseconds(300))
        cinema.core.seek(byChapters: 1)
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(1)))
    }

    @Test func aFilmWithoutChaptersStaysWhereItIs() {
        let cinema = cinema(syncEvery: 10)
        let before = cinema.core.seeks.mediaTime
        cinema.core.seek(byChapters: 1)
        cinema.run(for: .milliseconds(300))
        #expect(cinema.core.seeks.mediaTime > before && cinema.core.seeks.mediaTime < before + second(1))
        #expect(cinema.phase == .playing)
    }

    /// Seeks and returns the first frame that is shown afterwards.
    private func press(_ cinema: VirtualCinema, _ seconds: Int64, exact: Bool = false) -> Int? {
        let before = cinema.shown.count
        cinema.core.seek(by: second(seconds), exact: exact)
        cinema.run(for: .milliseconds(300))
        return cinema.shown.dropFirst(before).first
    }

    @Test func aKeyForwardGoesToTheFirstSyncPictureBeyondThePlaceMeant() throws {
        let cinema = cinema(syncEvery: 10)
        #expect((0..<6).map { _ in press(cinema, 5) } == [250, 500, 750, 1000, 1250, 1500])
        #expect(cinema.phase == .playing)
        cinema.soundErrors.withLock { $0.removeAll() }
        cinema.run(for: .seconds(1))
        let late = cinema.soundErrors.withLock { $0 }.map { abs($0.inMilliseconds) }
        #expect(try #require(late.max()) < 1)
    }

    @Test func aKeyForwardGoesExactlyWhereTheNextSyncPictureIsMoreThanAStepBeyond() {
        let cinema = cinema(syncEvery: 50)
        let moment = cinema.core.seeks.mediaTime + second(5)
        #expect(press(cinema, 5) == Int(moment.seconds * 25))
        // Also if there is no further keyframe before the end.
        cinema.core.seek(to: second(960), exact: true)
        cinema.run(for: .milliseconds(300))
        let last = cinema.core.seeks.mediaTime + second(5)
        #expect(press(cinema, 5) == Int(last.seconds * 25))
    }

    @Test func everyPressGoesAtLeastOneStepAndAtMostTwo() throws {
        let cinema = cinema(syncEvery: 50)
        for _ in 0..<10 {
            let before = cinema.core.seeks.mediaTime
            let first = try #require(press(cinema, 60))
            #expect((Int(before.seconds * 25) + 60 * 25...Int(before.seconds * 25) + 120 * 25).contains(first))
        }
        for _ in 0..<10 {
            let before = cinema.core.seeks.mediaTime
            let first = try #require(press(cinema, -60))
            let latest = max(0, Int(before.seconds * 25) - 60 * 25)
            #expect((max(0, latest - 60 * 25)...latest).contains(first))
        }
    }

    @Test func aKeyBackwardGoesToTheLastSyncPictureBeforeThePlaceMeantOrExactly() {
        let cinema = cinema(syncEvery: 10)
        cinema.core.seek(to: second(34), exact: true)
        cinema.run(for: .milliseconds(300))
        // A position around 29, more than five seconds after 20.
        let moment = cinema.core.seeks.mediaTime - second(5)
        #expect(press(cinema, -5) == Int(moment.seconds * 25))
        #expect(press(cinema, -5) == 500)
        #expect(press(cinema, -60) == 0)
    }

    @Test(arguments: [5, -5, 60] as [Int64]) func aHeldKeyGetsWhereItPoints(_ step: Int64) throws {
        let cinema = cinema(syncEvery: 50)
        cinema.core.seek(to: second(120), exact: true)
        cinema.run(for: .milliseconds(300))
        let meant = cinema.core.seeks.mediaTime + second(step * 10)
        let before = cinema.shown.count
        for _ in 0..<10 { cinema.core.seek(by: second(step), exact: false) }
        // The target position is reported before its frame is available.
        #expect(cinema.core.state.position == meant)
        cinema.run(for: .milliseconds(300))
        let place = Double(try #require(cinema.shown.dropFirst(before).first)) / 25
        let beyond = meant.seconds + Double(step)
        let range = step > 0 ? meant.seconds...beyond : beyond...meant.seconds
        #expect(range.contains(place + 0.04) || range.contains(place))
    }

    @Test func thePositionIsTheActualTargetAndTheEventTheRequestedOne() {
        let cinema = cinema(syncEvery: 10)
        cinema.core.pause()
        cinema.run(for: .milliseconds(300))
        #expect(press(cinema, 5) == 250)
        #expect(cinema.phase == .paused)
        #expect(cinema.core.seeks.mediaTime == second(10))
        #expect(cinema.core.state.position == second(10))
    }

    @Test(arguments: [true, false]) func windingPastTheEndOfTheLastFilmEndsIt(_ exact: Bool) {
        let cinema = cinema(syncEvery: 10, lasting: 100)
        cinema.core.seek(by: second(60), exact: exact)
        // While the seek is in progress.
        cinema.core.seek(by: second(60), exact: exact)
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(1)))
    }

    @Test func aPausedLastFilmKeepsAFrameAfterASeekPastItsEnd() throws {
        let cinema = cinema(syncEvery: 10, lasting: 100)
        cinema.core.pause()
        cinema.run(for: .milliseconds(300))
        #expect(try #require(press(cinema, 600)) >= 2495)
        #expect(cinema.phase == .paused)
    }

    @Test func theEndThatWasAskedForIsTheEnd() {
        var options = PlayerOptions()
        options.end = .fromStart(second(12))
        let cinema = cinema(syncEvery: 10, options: options)
        // Keyframes at 10 and 20; only the first one may be shown.
        let moment = cinema.core.seeks.mediaTime + second(9)
        #expect(press(cinema, 9) == Int(moment.seconds * 25))
        cinema.core.seek(by: second(5), exact: false)
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(1)))
    }

    @Test func windingPastTheEndGoesToTheNextFilm() {
        let films = ["a": CountedFilm(1), "b": CountedFilm(2)]
        let programme = VirtualProgramme(films, first: "a")
        programme.core.setNext([QueueItem("b")])
        programme.run(for: .seconds(2))
        programme.core.seek(by: second(60), exact: false)
        programme.run(for: .seconds(1))
        #expect(programme.restarted == ["a", "b"])
        #expect(programme.phase == .playing)
        #expect((programme.numbers.last ?? nil).map { $0 > 2_000_010 } == true)
        #expect(programme.state.position < second(2))
    }

    @Test func windingPastTheEndOfALoopBeginsItAgain() {
        var options = PlayerOptions()
        options.loopFile = .times(1)
        let cinema = cinema(syncEvery: 10, lasting: 100, options: options)
        #expect(press(cinema, 600) == 0)
        cinema.core.seek(by: second(600), exact: false)
        #expect(cinema.run(untilPhase: .ended, atMost: .seconds(1)))
    }

    @Test(arguments: [Duration.milliseconds(50), .zero]) func twentyStepsAreTwentyPictures(_ pause: Duration) {
        let cinema = cinema(syncEvery: 10)
        cinema.core.pause()
        cinema.run(for: .milliseconds(500))
        let current = cinema.shown.last!
        for _ in 0..<20 {
            cinema.core.step(byFrames: 1)
            cinema.run(for: pause)
        }
        cinema.run(for: .seconds(1))
        #expect(cinema.shown.suffix(21) == Array(current...current + 20)[...])
        for _ in 0..<5 { cinema.core.step(byFrames: -1) }
        cinema.run(for: .seconds(1))
        #expect(cinema.shown.last == current + 15)
        #expect(cinema.phase == .paused)
    }

    @Test func stepsEndWithTheFilm() {
        let cinema = cinema(syncEvery: 10, lasting: 4)
        cinema.core.pause()
        for _ in 0..<100 { cinema.core.step(byFrames: 1) }
        cinema.run(for: .seconds(2))
        #expect(cinema.shown.last == 99)
        cinema.core.step(byFrames: -1)
        cinema.run(for: .milliseconds(500))
        #expect(cinema.shown.last == 98)
    }

    @Test(arguments: [(FilmPosition.fraction(0.5), 5.0, "00:00:05"), (.fromStart(.zero), 0, "00:00:00")])
    func anEndThatIsNotAfterTheStartIsSaid(start: FilmPosition, end: Double, clock: String) throws {
        var options = PlayerOptions()
        (options.start, options.end) = (start, .fromStart(MediaTime(seconds: end)))
        let film = cinema(syncEvery: 10, lasting: 10, options: options)
        let failure = try #require(film.core.state.failure)
        #expect(failure.code == .cannotOpen)
        #expect(failure.message.contains("at \(clock) is not after its start at \(clock)"), "\(failure.message)")
    }

    @Test func aStartBehindTheEndIsSaid() throws {
        var options = PlayerOptions()
        options.start = .fromStart(second(90))
        let film = cinema(syncEvery: 10, lasting: 10, options: options)
        #expect(film.phase == .failed)
        let failure = try #require(film.core.state.failure)
        #expect(failure.code == .cannotOpen)
        #expect(failure.message.contains("ends at 00:00:10, before the requested start at 00:01:30"))
        // An item of a playlist is skipped with the same message.
        options.start = .fromStart(second(15))
        let programme = VirtualProgramme(
            ["a": CountedFilm(1, frameCount: 500, audioFrameCount: 960_000), "b": CountedFilm(2)], first: "a",
            options: options)
        programme.core.setNext([QueueItem("b")])
        programme.run(for: .seconds(3))
        #expect(programme.failed == ["b cannot-open"])
    }
}
