import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Gapless boundaries between items of a playlist and in loops.
@Suite struct FilmJointTests {
    private let rate: Int64 = 48_000

    /// Returns the expected frame numbers: film × 1 000 000 + n.
    private func pictures(_ films: CountedFilm...) -> [Int?] {
        films.flatMap { film in (0..<film.frameCount).map { film.number * 1_000_000 + $0 } }
    }

    /// Returns the largest deviation of a frame from its target instant, in milliseconds.
    private func worstPicture(_ programme: VirtualProgramme) -> Double {
        programme.shown.dropFirst().map { abs(($0.presented - $0.target).inMilliseconds) }.max() ?? .infinity
    }

    /// Expects the tape to contain the complete audio of these films without gaps.
    private func expectSound(
        _ tape: TapeOutput, _ films: CountedFilm..., sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(tape.doubled == 0, sourceLocation: sourceLocation)
        #expect(tape.blanks == 0, sourceLocation: sourceLocation)
        let parts = films.map { (sound: $0.number, frames: 0..<Int64($0.audioFrameCount)) }
        #expect(tape.tape.firstMismatch(with: parts) == nil, sourceLocation: sourceLocation)
        #expect(tape.tape.span == films.reduce(0) { $0 + $1.audioFrameCount }, sourceLocation: sourceLocation)
    }

    @Test func filmsOfAListFollowOneAnotherToTheSampleAndThePicture() throws {
        let (one, two) = (
            CountedFilm(1, frameCount: 100, audioFrameCount: 192_000),
            CountedFilm(2, frameCount: 75, audioFrameCount: 144_000)
        )
        let programme = VirtualProgramme(["one": one, "two": two], first: "one")
        programme.core.setNext([QueueItem("two")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began == ["two"])
        #expect(programme.opened.withLock { $0 } == ["one", "two"])
        #expect(programme.numbers == pictures(one, two))
        #expect(programme.dropped == 0)
        #expect(worstPicture(programme) < 0.001)
        expectSound(programme.tape, one, two)
        // On one timeline with a single anchor.
        #expect(programme.shown.last?.pts == MediaTime(value: 174, timescale: 25))
        #expect(
            !programme.playerEvents.contains { if case .phase(.opening) = $0 { true } else { false } }
                || programme.playerEvents.filter {
                    if case .phase(.buffering) = $0 { true } else { false }
                }.count == 1)
    }

    @Test(arguments: [
        (MediaTime(value: 1, timescale: 25), 12, 23_040),
        // 12 frames of 24000/1001 per second last 24 024 samples.
        (MediaTime(value: 1001, timescale: 24_000), 12, 24_024),
    ])
    func aHundredLoopsLoseNoSampleAndNoPictureAndEachBeginsAtItsMultipleOfTheLength(
        _ frame: MediaTime, _ count: Int, _ sound: Int
    ) throws {
        let film = CountedFilm(1, frameCount: count, frame: frame, audioFrameCount: sound)
        var options = PlayerOptions()
        options.loopFile = .times(100)
        let programme = VirtualProgramme(["film": film], first: "film", options: options)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(60)))
        #expect(programme.began == [String](repeating: "again", count: 100))
        #expect(programme.opened.withLock { $0 } == ["film"])
        #expect(programme.shown.count == 101 * count)
        #expect(programme.dropped == 0)
        let start = try #require(programme.shown.dropFirst().first).target.advanced(by: .zero - frame.duration)
        for loop in 0...100 {
            let first = programme.shown[loop * count]
            #expect(first.number == 1_000_000)
            #expect(first.pts == film.length * Int64(loop), "loop \(loop)")
            if loop > 0 {
                let due = start.advanced(by: (film.length * Int64(loop)).duration)
                #expect(abs((first.target - due).inSeconds) < 2e-9, "loop \(loop)")
            }
        }
        #expect(programme.tape.doubled == 0 && programme.tape.blanks == 0)
        #expect(programme.tape.tape.count == 101 * sound)
        #expect(programme.tape.maxError < 1e-6)
        #expect(programme.tape.tape.firstMismatch(with: Array(repeating: (1, 0..<Int64(sound)), count: 101)) == nil)
        // Only the playing film and the next one are open.
        #expect(film.open.withLock { $0 } <= 2)
    }

    @Test func aLoopForEverHoldsNoMoreOpenAfterTwoHundredRoundsThanAtTheStart() {
        let film = CountedFilm(1, frameCount: 5, audioFrameCount: 9600)
        var options = PlayerOptions()
        options.loopFile = .forever
        let programme = VirtualProgramme(["film": film], first: "film", options: options, depth: .seconds(3))
        programme.run(for: .seconds(4))
        let (open, links) = (film.open.withLock { $0 }, programme.core.list.entries.count)
        programme.run(for: .seconds(40))
        #expect(film.open.withLock { $0 } <= open + 1)
        #expect(programme.core.list.entries.count <= links + 1)
        #expect(programme.dropped == 0)
        #expect(programme.tape.blanks == 0 && programme.tape.doubled == 0)
    }

    @Test func aLoopingListIsGaplessAcrossSuppliedItems() {
        let (one, two) = (
            CountedFilm(1, frameCount: 25, audioFrameCount: 48_000),
            CountedFilm(2, frameCount: 50, audioFrameCount: 96_000)
        )
        let programme = VirtualProgramme(["one": one, "two": two], first: "one")
        programme.core.setNext(["two", "one", "two"].map { QueueItem($0) })
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began == ["two", "one", "two"])
        #expect(programme.numbers == pictures(one, two, one, two))
        expectSound(programme.tape, one, two, one, two)
    }

    @Test(arguments: [44_100, 32_000, 96_000]) func filmsOfDifferentRatesJoinWithoutAHole(_ other: Int) throws {
        let one = CountedFilm(1, frameCount: 50, audioFrameCount: 96_000)
        let two = CountedFilm(2, frameCount: 50, audioFrameCount: other * 2, sampleRate: other)
        let programme = VirtualProgramme(["one": one, "two": two], first: "one")
        programme.core.setNext([QueueItem("two"), QueueItem("one")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.tape.doubled == 0)
        #expect(programme.tape.blanks == 0)
        #expect(programme.tape.tape.count == 3 * 96_000)
        #expect(programme.numbers == pictures(one, two, one))
        // The last film's samples are at their exact positions.
        let last = programme.tape.tape.first.flatMap { programme.tape.tape[$0 + 2 * 96_000 + 500] }
        #expect(last.flatMap { FloatCodecs.meaning(of: $0) }.map { $0.sound == 1 && $0.frame == 500 } ?? false)
    }

    @Test func theLaterOfPictureAndSoundEndsAFilm() throws {
        // Audio that ends half a second early is followed by silence; video that ends early keeps its last frame.
        let short = CountedFilm(1, frameCount: 50, audioFrameCount: 72_000)
        let long = CountedFilm(2, frameCount: 25, audioFrameCount: 96_000)
        let programme = VirtualProgramme(["short": short, "long": long], first: "short")
        programme.core.setNext([QueueItem("long"), QueueItem("short")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.numbers == pictures(short, long, short))
        #expect(programme.shown[50].pts == MediaTime(value: 2, timescale: 1))
        #expect(programme.shown[75].pts == MediaTime(value: 4, timescale: 1))
        let tape = programme.tape.tape
        func meaning(_ frame: Int64) -> (sound: Int, frame: Int64)? {
            tape[frame].flatMap { FloatCodecs.meaning(of: $0) }
        }
        #expect(meaning(71_999).map { $0.frame == 71_999 } ?? false)
        #expect(meaning(72_000) == nil && meaning(95_999) == nil)
        #expect(meaning(96_000).map { $0.sound == 2 && $0.frame == 0 } ?? false)
        #expect(meaning(192_000).map { $0.sound == 1 && $0.frame == 0 } ?? false)
        #expect(programme.tape.doubled == 0)
    }

    @Test func filmsWithoutPictureAreBlackAndThoseWithoutSoundSilentForTheirLength() throws {
        let whole = CountedFilm(1, frameCount: 50, audioFrameCount: 96_000)
        let deaf = CountedFilm(2, frameCount: 75, audioFrameCount: 0)
        let blind = CountedFilm(3, frameCount: 0, audioFrameCount: 144_000)
        let programme = VirtualProgramme(["whole": whole, "deaf": deaf, "blind": blind], first: "whole")
        programme.core.setNext(["deaf", "blind", "whole"].map { QueueItem($0) })
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began == ["deaf", "blind", "whole"])
        #expect(programme.numbers.compactMap { $0 } == pictures(whole, deaf, whole))
        let black = try #require(programme.shown.first { $0.number == nil })
        #expect(black.pts == MediaTime(value: 5, timescale: 1))
        #expect(programme.shown.filter { $0.number == nil }.count == 1)
        let tape = programme.tape.tape
        func meaning(_ frame: Int64) -> (sound: Int, frame: Int64)? {
            tape[frame].flatMap { FloatCodecs.meaning(of: $0) }
        }
        #expect(meaning(95_999).map { $0.sound == 1 && $0.frame == 95_999 } ?? false)
        #expect(meaning(96_000) == nil && meaning(239_999) == nil)
        #expect(meaning(240_000).map { $0.sound == 3 && $0.frame == 0 } ?? false)
        #expect(meaning(384_000).map { $0.sound == 1 && $0.frame == 0 } ?? false)
    }

    @Test func aListMayBeginWithoutSoundOrWithoutPicture() throws {
        let whole = CountedFilm(1, frameCount: 50, audioFrameCount: 96_000)
        for (address, film) in [
            ("deaf", CountedFilm(2, frameCount: 75, audioFrameCount: 0)),
            ("blind", CountedFilm(3, frameCount: 0, audioFrameCount: 144_000)),
        ] {
            let programme = VirtualProgramme(["whole": whole, address: film], first: address)
            programme.core.setNext([QueueItem("whole")])
            #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
            #expect(programme.began == ["whole"], "\(address)")
            #expect(programme.shown.last?.pts == MediaTime(value: 5, timescale: 1) - whole.frame, "\(address)")
            let last = programme.tape.tape[3 * rate + 95_999].flatMap { FloatCodecs.meaning(of: $0) }
            #expect(last.map { $0.sound == 1 && $0.frame == 95_999 } ?? false, "\(address)")
        }
    }

    @Test func aFilmThatCannotBeOpenedIsReportedAndSkippedWithoutAGap() {
        let (one, two) = (
            CountedFilm(1, frameCount: 50, audioFrameCount: 96_000),
            CountedFilm(2, frameCount: 25, audioFrameCount: 48_000)
        )
        let programme = VirtualProgramme(["one": one, "two": two], first: "one")
        programme.core.setNext(["missing", "two"].map { QueueItem($0) })
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.failed == ["missing cannot-open"])
        #expect(programme.began == ["two"])
        #expect(programme.numbers == pictures(one, two))
        expectSound(programme.tape, one, two)
    }

    @Test func aFilmThatOpensSlowlyIsWaitedForAndNotLost() {
        let (one, two) = (
            CountedFilm(1, frameCount: 50, audioFrameCount: 96_000),
            CountedFilm(2, frameCount: 25, audioFrameCount: 48_000)
        )
        let programme = VirtualProgramme(["one": one, "two": two], first: "one")
        programme.run(for: .milliseconds(100))
        programme.hold("prefetch")
        programme.core.setNext([QueueItem("two")])
        programme.run(for: .milliseconds(1850))
        #expect(programme.tape.tape.count == 96_000, "its end is heard although something was to follow")
        #expect(programme.run(untilPhase: .opening, atMost: .seconds(20)))
        #expect(programme.numbers == pictures(one))
        programme.run(for: .seconds(3))
        #expect(programme.phase == .opening)
        programme.letGo("prefetch")
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began == [], "it did not join")
        #expect(programme.restarted == ["one", "two"])
        #expect(programme.numbers == pictures(one, two))
        expectSound(programme.tape, two)
        #expect(programme.opened.withLock { $0 } == ["one", "two"])
    }

    @Test func aFilmThatWasOpenedForLaterIsNotOpenedAgainByItsOwner() {
        let (one, two) = (
            CountedFilm(1, frameCount: 50, audioFrameCount: 96_000),
            CountedFilm(2, frameCount: 25, audioFrameCount: 48_000)
        )
        let programme = VirtualProgramme(["one": one, "two": two], first: "one")
        programme.run(for: .milliseconds(100))
        programme.hold("prefetch")
        programme.core.setNext([QueueItem("two")])
        programme.run(for: .seconds(1))
        programme.core.open("two")
        programme.letGo("prefetch")
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.numbers.suffix(25) == pictures(two)[...])
        #expect(programme.opened.withLock { $0 } == ["one", "two"])
    }

    @Test func aFilmWithOneReaderIsOpenedAgainForALoopAndJoinsTheOneBefore() {
        let pipe = CountedFilm(1, frameCount: 25, audioFrameCount: 48_000, sharesReader: true)
        var options = PlayerOptions()
        options.loopFile = .times(1)
        let programme = VirtualProgramme(["pipe": pipe], first: "pipe", options: options)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began == ["again"])
        #expect(programme.numbers == pictures(pipe, pipe))
        let one = CountedFilm(2, frameCount: 25, audioFrameCount: 48_000)
        let next = VirtualProgramme(["one": one, "pipe": pipe], first: "one")
        next.core.setNext([QueueItem("pipe"), QueueItem("one")])
        #expect(next.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(next.began == ["pipe", "one"])
        #expect(next.opened.withLock { $0 } == ["one", "pipe", "one"], "what was opened ahead is not opened again")
        #expect(next.numbers == pictures(one, pipe, one))
        expectSound(next.tape, one, pipe, one)
    }

    @Test func aLiveStreamIsOpenedAheadAndBeginsWhenTheFilmBeforeIsOver() {
        let one = CountedFilm(2, frameCount: 25, audioFrameCount: 48_000)
        let live = CountedFilm(1, frameCount: 25, audioFrameCount: 48_000, sharesReader: true, isLive: true)
        let programme = VirtualProgramme(["one": one, "live": live], first: "one")
        programme.core.setNext([QueueItem("live")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began == [])
        #expect(programme.restarted == ["one", "live"])
        #expect(programme.numbers == pictures(one, live))
        #expect(programme.opened.withLock { $0 } == ["one", "live"], "what was opened ahead is not opened again")
    }

    @Test func startAndEndHoldForEachPlayingAndCutTheSoundToTheSample() throws {
        // Not on the boundary of a packet or a frame.
        let (start, end) = (MediaTime(value: 12_345, timescale: 48_000), MediaTime(value: 70_001, timescale: 48_000))
        var options = PlayerOptions()
        options.start = .fromStart(start)
        options.end = .fromStart(end)
        options.loopFile = .times(3)
        let film = CountedFilm(1, frameCount: 50, audioFrameCount: 96_000)
        let programme = VirtualProgramme(["film": film], first: "film", options: options)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began.count == 3)
        let length: Int64 = 70_001 - 12_345
        let tape = programme.tape
        #expect(tape.doubled == 0)
        for loop in 1...3 {
            // The first pass is on the film's own timeline.
            let begin = 12_345 + length * Int64(loop)
            for (place, frame) in [(begin - 1, Int64(70_000)), (begin, 12_345), (begin + 1, 12_346)] {
                let meaning = tape.tape[place].flatMap { FloatCodecs.meaning(of: $0) }
                #expect(meaning.map { $0.frame == frame } ?? false, "loop \(loop) at \(place)")
            }
            let first = try #require(programme.shown.first { $0.pts == MediaTime(value: begin, timescale: 48_000) })
            #expect(first.number == 1_000_000 + 12_345 * 25 / 48_000)
        }
    }

    @Test func aFilmOfUnknownDurationJoinsGaplessly() {
        let (one, two) = (
            CountedFilm(1, frameCount: 50, audioFrameCount: 96_000, statesLength: false),
            CountedFilm(2, frameCount: 25, audioFrameCount: 48_000, statesLength: false)
        )
        let programme = VirtualProgramme(["one": one, "two": two], first: "one")
        programme.core.setNext([QueueItem("two")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.numbers == pictures(one, two))
        expectSound(programme.tape, one, two)
    }

    // MARK: User view and actions

    @Test func positionTitleAndLengthAreThoseOfTheFilmThatIsPerceived() {
        let (one, two) = (
            CountedFilm(1, frameCount: 50, audioFrameCount: 96_000),
            CountedFilm(2, frameCount: 75, audioFrameCount: 144_000)
        )
        let programme = VirtualProgramme(["one": one, "two": two], first: "one", depth: .seconds(10))
        programme.core.setNext([QueueItem("two")])
        programme.run(for: .milliseconds(1900))
        // The output has already buffered all of it, which must not change the reported state.
        #expect(programme.state.title == "one")
        #expect(programme.state.duration == one.length)
        #expect(programme.state.position < one.length)
        #expect(programme.began == [])
        programme.run(for: .milliseconds(600))
        #expect(programme.state.title == "two")
        #expect(programme.state.duration == two.length)
        #expect(programme.state.position.seconds < 0.6)
        #expect(programme.state.timelineOffset == one.length)
    }

    @Test func aSeekBehindAJointStaysInTheFilmThatPlaysAndPlaysOnFromThere() {
        let (one, two) = (
            CountedFilm(1, frameCount: 50, audioFrameCount: 96_000),
            CountedFilm(2, frameCount: 75, audioFrameCount: 144_000)
        )
        let programme = VirtualProgramme(["one": one, "two": two], first: "one")
        programme.core.setNext([QueueItem("two"), QueueItem("one")])
        programme.run(for: .milliseconds(3000))
        #expect(programme.began == ["two"])
        programme.core.seek(by: MediaTime(value: -10, timescale: 1), exact: true)
        let before = programme.shown.count
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(Array(programme.numbers[before...]) == pictures(two, one))
        // The timeline restarted with the film, and what follows still joins.
        #expect(programme.began == ["two", "one"])
        expectSound(programme.tape, two, one)
        // A seek position is relative to the film.
        let again = VirtualProgramme(["one": one, "two": two], first: "one")
        again.core.setNext([QueueItem("two")])
        again.run(for: .milliseconds(3000))
        again.core.seek(to: MediaTime(value: 2, timescale: 1), exact: true)
        again.run(for: .milliseconds(200))
        #expect(again.shown.last?.number.map { (2_000_050...2_000_056).contains($0) } ?? false)
    }

    @Test func aLoopSwitchedOffNearTheEndIsTakenBackFromTheOutput() {
        let film = CountedFilm(1, frameCount: 50, audioFrameCount: 96_000)
        var options = PlayerOptions()
        options.loopFile = .forever
        let programme = VirtualProgramme(["film": film], first: "film", options: options, depth: .seconds(5))
        programme.run(for: .milliseconds(1700))
        programme.core.setLoop(.times(0))
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.numbers == pictures(film))
        #expect(programme.tape.partialFlushes == 1)
        #expect(programme.tape.takes.isEmpty, "the film went on meanwhile")
        expectSound(programme.tape, film)
    }

    @Test func aLoopSwitchedOffTooLateRestartsAudioAtThePlayhead() {
        let film = CountedFilm(1, frameCount: 50, audioFrameCount: 96_000)
        var options = PlayerOptions()
        options.loopFile = .forever
        let programme = VirtualProgramme(["film": film], first: "film", options: options, depth: .seconds(5))
        programme.tape.recallLead = nil
        programme.run(for: .milliseconds(1500))
        programme.core.setLoop(.times(0))
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.shown.last?.number == 1_000_049)
        #expect(programme.began == [])
        #expect(programme.tape.tape.last == 95_999)
    }

    @Test func aLoopSwitchedOnNearTheEndRevokesTheNextFilm() {
        let (one, two) = (
            CountedFilm(1, frameCount: 50, audioFrameCount: 96_000),
            CountedFilm(2, frameCount: 25, audioFrameCount: 48_000)
        )
        let programme = VirtualProgramme(["one": one, "two": two], first: "one", depth: .seconds(5))
        programme.core.setNext([QueueItem("two")])
        programme.run(for: .milliseconds(1700))
        programme.core.setLoop(.times(1))
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began == ["again", "two", "again"])
        // The next film is repeated as often as this one, by mpv's rule for --loop-file.
        #expect(Array(programme.numbers.prefix(125)) == pictures(one, one, two))
        #expect(programme.tape.partialFlushes == 1)
        #expect(programme.tape.doubled == 0 && programme.tape.blanks == 0)
    }

    @Test func anotherListTakesThePlaceOfWhatWasReadAlready() {
        let films = [1, 2, 3].map { CountedFilm($0, frameCount: 50, audioFrameCount: 96_000) }
        let programme = VirtualProgramme(
            ["one": films[0], "two": films[1], "three": films[2]], first: "one", depth: .seconds(5))
        programme.core.setNext([QueueItem("two")])
        programme.run(for: .milliseconds(1500))
        programme.core.setNext([QueueItem("three")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.numbers == pictures(films[0], films[2]))
        expectSound(programme.tape, films[0], films[2])
    }

    @Test func aPauseOnAJointLosesNothing() {
        let film = CountedFilm(1, frameCount: 25, audioFrameCount: 48_000)
        var options = PlayerOptions()
        options.loopFile = .times(3)
        let programme = VirtualProgramme(["film": film], first: "film", options: options)
        programme.run(for: .milliseconds(1040))
        programme.core.pause()
        programme.run(for: .seconds(2))
        programme.core.play()
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.numbers == pictures(film, film, film, film))
        expectSound(programme.tape, film, film, film, film)
        #expect(programme.dropped == 0)
    }

    @Test func aChangeOfSpeedKeepsTheJoints() {
        let film = CountedFilm(1, frameCount: 50, audioFrameCount: 96_000)
        var options = PlayerOptions()
        options.loopFile = .times(2)
        let programme = VirtualProgramme(["film": film], first: "film", options: options)
        programme.run(for: .milliseconds(800))
        programme.core.setSpeed(1.5)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.numbers == pictures(film, film, film))
        #expect(programme.dropped == 0)
    }

    @Test func withoutSoundPicturesJoinByThemselves() {
        let film = CountedFilm(1, frameCount: 25, audioFrameCount: 48_000)
        var options = PlayerOptions()
        options.loopFile = .times(5)
        let programme = VirtualProgramme(["film": film], first: "film", options: options, hasSound: false)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.shown.count == 150)
        #expect(programme.dropped == 0)
        #expect(worstPicture(programme) < 0.001)
    }

    @Test func messagesAboutAFilmAreReportedOnceAtItsStart() {
        let (one, two) = (
            CountedFilm(1, frameCount: 25, audioFrameCount: 48_000),
            CountedFilm(2, frameCount: 25, audioFrameCount: 48_000)
        )
        var options = PlayerOptions()
        options.loopFile = .times(2)
        let programme = VirtualProgramme(
            ["one": one, "two": two, "sound": CountedFilm(3, frameCount: 0, audioFrameCount: 48_000)], first: "one",
            options: options,
            remark: { ($0 as? CountedFilm).map { "film \($0.number)" } })
        programme.core.setNext([QueueItem("two"), QueueItem("sound")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        let messages = programme.playerEvents.compactMap { if case .message(let text) = $0 { text } else { nil } }
        #expect(messages == ["film 1", "film 2", "film 3"])
    }
}
