import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Subtitles through starts, seeks, gapless boundaries and track changes, in virtual time.
@Suite struct SubtitlePlaybackTests {
    /// Ten seconds with 25 frames per second.
    private func film(_ number: Int = 1, lines: [[CountedSubtitle]], languages: [String?] = []) -> CountedFilm {
        CountedFilm(number, subtitles: lines, languages: languages)
    }

    /// Returns the subtitles over the frames of a film, as "lines: frames".
    private func seen(_ programme: VirtualProgramme, _ film: Int = 1, from first: Int = 0) -> [String] {
        var runs: [(lines: [Int], first: Int, last: Int)] = []
        for shown in programme.screen.shown.dropFirst(first) where shown.number / 1_000_000 == film {
            let number = shown.number % 1_000_000
            if let last = runs.last, last.lines == shown.numbers, number == last.last + 1 || number == last.last {
                runs[runs.count - 1].last = number
            } else {
                runs.append((shown.numbers, number, number))
            }
        }
        return runs.map { "\($0.lines): \($0.first)...\($0.last)" }
    }

    @Test func theFilmsOwnSubtitlesAreSeenOnTheirPictures() {
        let film = film(lines: [[CountedSubtitle(3, at: 1, for: 2), CountedSubtitle(4, at: 3, for: 0.5)]])
        let programme = VirtualProgramme(["film": film], first: "film")
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(seen(programme) == ["[]: 0...24", "[3]: 25...74", "[4]: 75...87", "[]: 88...249"])
        #expect(programme.dropped == 0)
    }

    /// A subtitle file for a release with a longer beginning.
    @Test func subtitlesThatAreLateInTheirFileAreSeenWithANegativeDelay() {
        var options = PlayerOptions()
        options.subtitleDelay = .seconds(-20)
        let film = CountedFilm(
            1, frameCount: 1000, audioFrameCount: 640_000, sampleRate: 16_000,
            subtitles: [[CountedSubtitle(3, at: 25, for: 1), CountedSubtitle(4, at: 35, for: 1)]])
        let programme = VirtualProgramme(["film": film], first: "film", options: options)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(60)))
        #expect(
            seen(programme) == [
                "[]: 0...124", "[3]: 125...149", "[]: 150...374", "[4]: 375...399", "[]: 400...999",
            ])
    }

    @Test(arguments: [0.25, 0.5, 2.0, 4.0])
    func atAnySpeedTheSamePicturesBearThem(_ speed: Double) {
        var options = PlayerOptions()
        options.speed = speed
        let film = film(lines: [[CountedSubtitle(3, at: 1, for: 2)]])
        let programme = VirtualProgramme(["film": film], first: "film", options: options)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(50)))
        #expect(seen(programme) == ["[]: 0...24", "[3]: 25...74", "[]: 75...249"])
    }

    @Test(arguments: [0.2, 4.0, 4.96, 5.0, 8.9])
    func afterAJumpTheRightOnesAreSeen(_ target: Double) {
        let film = film(lines: [[CountedSubtitle(3, at: 0, for: 5), CountedSubtitle(4, at: 5, for: 3.92)]])
        let programme = VirtualProgramme(["film": film], first: "film")
        programme.run(for: .seconds(2))
        let before = programme.screen.shown.count
        programme.core.seek(to: MediaTime(seconds: target, preferredTimescale: 1000), exact: true)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        let first = Int((target * 25).rounded(.down))
        // The first frame may be presented before its subtitle is drawn, and again with it.
        for shown in programme.screen.shown.dropFirst(before + 2) {
            let number = shown.number % 1_000_000
            guard number > first else { continue }
            #expect(shown.numbers == (number < 125 ? [3] : number < 223 ? [4] : []), "picture \(number)")
        }
    }

    /// Half a minute with a line of two seconds every four seconds, from the fifth second on.
    private func sparseFilm(_ number: Int) -> CountedFilm {
        let lines = (0..<7).map { CountedSubtitle($0 + 1, at: Double(5 + 4 * $0), for: 2) }
        return CountedFilm(number, frameCount: 750, audioFrameCount: 480_000, sampleRate: 16_000, subtitles: [lines])
    }

    /// Returns the lines of such a film that a frame shows.
    private func sparseLines(at picture: Int) -> [Int] {
        picture >= 125 && (picture - 125) % 100 < 50 ? [(picture - 125) / 100 + 1] : []
    }

    @Test(arguments: [1.0, 2.0])
    func sparseLinesAreSeenFromTheStartAfterAPauseAndASeekAndInTheFilmThatFollows(_ speed: Double) {
        var options = PlayerOptions()
        options.speed = speed
        let programme = VirtualProgramme(
            ["one": sparseFilm(1), "two": sparseFilm(2)], first: "one", options: options)
        programme.core.setNext([QueueItem("two")])
        programme.run(for: .seconds(8) / speed)
        programme.core.pause()
        programme.run(for: .seconds(4))
        programme.core.play()
        programme.run(for: .seconds(4) / speed)
        let before = programme.screen.shown.count
        for shown in programme.screen.shown.dropFirst() {
            #expect(shown.numbers == sparseLines(at: shown.number % 1_000_000), "picture \(shown.number)")
        }
        #expect((1...2).allSatisfy { line in programme.screen.shown.contains { $0.numbers == [line] } })
        programme.core.seek(to: MediaTime(value: 20, timescale: 1), exact: true)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(60)))
        #expect(programme.began == ["two"])
        // The first frame after a seek may be presented before its subtitle is drawn, and again with it.
        for shown in programme.screen.shown.dropFirst(before + 2) {
            #expect(shown.numbers == sparseLines(at: shown.number % 1_000_000), "picture \(shown.number)")
        }
        #expect(
            (1...7).allSatisfy { line in
                programme.screen.shown.contains { $0.number / 1_000_000 == 2 && $0.numbers == [line] }
            })
    }

    @Test func eachFilmOfAListHasItsOwnAndNoneReachesIntoTheNext() {
        let one = film(lines: [[CountedSubtitle(3, at: 9, for: 30)]])
        let two = film(2, lines: [[CountedSubtitle(4, at: 0.4, for: 1)]])
        let programme = VirtualProgramme(["one": one, "two": two], first: "one")
        programme.core.setNext([QueueItem("two")])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(40)))
        #expect(programme.began == ["two"])
        #expect(seen(programme) == ["[]: 0...224", "[3]: 225...249"])
        #expect(seen(programme, 2) == ["[]: 0...9", "[4]: 10...34", "[]: 35...249"])
    }

    @Test func aLoopShowsThemEachTime() {
        let film = CountedFilm(
            1, frameCount: 50, audioFrameCount: 96_000, subtitles: [[CountedSubtitle(3, at: 0, for: 0.4)]])
        var options = PlayerOptions()
        options.loopFile = .times(2)
        let programme = VirtualProgramme(["film": film], first: "film", options: options)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.began == ["again", "again"])
        // The first frame is presented before its subtitle is drawn, and again with it.
        let runs = seen(programme).drop { $0 == "[]: 0...0" }
        #expect(Array(runs) == (1...3).flatMap { _ in ["[3]: 0...9", "[]: 10...49"] })
    }

    @Test func tracksAreChangedInMidFilmAndTakenAway() {
        let film = film(
            lines: [[CountedSubtitle(3, at: 0, for: 10)], [CountedSubtitle(4, at: 0, for: 10)]],
            languages: ["eng", "deu"])
        let programme = VirtualProgramme(["film": film], first: "film")
        programme.run(for: .seconds(1))
        #expect(programme.screen.shown.last?.numbers == [3])
        #expect(programme.state.subtitleTrack?.number == 1)
        #expect(programme.state.subtitleTracks.count == 2)
        programme.core.cycleSubtitles(by: 1)
        programme.run(for: .milliseconds(200))
        #expect(programme.screen.shown.last?.numbers == [4])
        programme.core.cycleSubtitles(by: 1)
        programme.run(for: .milliseconds(200))
        #expect(programme.screen.shown.last?.numbers == [])
        #expect(programme.state.subtitleTrack == nil)
        programme.core.cycleSubtitles(by: -1)
        programme.run(for: .milliseconds(200))
        #expect(programme.screen.shown.last?.numbers == [4])
        let messages = programme.playerEvents.compactMap { if case .message(let text) = $0 { text } else { nil } }
        #expect(messages == ["Subtitles 2 of 2, German", "Subtitles: none", "Subtitles 2 of 2, German"])
        // The audio is not interrupted.
        #expect(programme.tape.blanks == 0)
    }

    @Test func secondSubtitlesAreSeenBesideTheFirstThroughJumpsAndListsUntilTheyAreTakenAway() {
        let lines = [[CountedSubtitle(3, at: 0, for: 8)], [CountedSubtitle(4, at: 1, for: 8)]]
        let (one, two) = (film(lines: lines), film(2, lines: lines))
        var options = PlayerOptions()
        options.subtitles = .number(1)
        options.secondarySubtitles = .number(2)
        let programme = VirtualProgramme(["one": one, "two": two], first: "one", options: options)
        programme.core.setNext([QueueItem("two")])
        programme.run(for: .milliseconds(800))
        #expect(programme.screen.shown.last?.numbers == [3])
        programme.run(for: .seconds(1))
        #expect(programme.screen.shown.last?.numbers == [3, 4])
        programme.core.seek(to: MediaTime(value: 7, timescale: 1), exact: true)
        programme.run(for: .milliseconds(500))
        #expect(programme.screen.shown.last?.numbers == [3, 4])
        programme.core.tracks.subtitles.setSecondaryShown(false)
        programme.run(for: .milliseconds(200))
        #expect(programme.screen.shown.last?.numbers == [3])
        programme.core.tracks.subtitles.setSecondaryShown(true)
        programme.run(for: .seconds(5))
        #expect(programme.began == ["two"] && programme.screen.shown.last?.numbers == [3, 4])
        programme.core.cycleSecondarySubtitles(by: 1)
        programme.run(for: .milliseconds(200))
        #expect(programme.screen.shown.last?.numbers == [3])
        programme.core.selectSubtitles(nil)
        programme.core.selectSecondarySubtitles(2)
        programme.run(for: .milliseconds(200))
        #expect(programme.screen.shown.last?.numbers == [4])
        #expect(programme.tape.blanks == 0)
    }

    @Test func aLanguageThatIsWantedIsTakenAndNoneIsShownWhereNoneIsWanted() {
        let lines = [[CountedSubtitle(3, at: 0, for: 10)], [CountedSubtitle(4, at: 0, for: 10)]]
        var options = PlayerOptions()
        options.subtitleLanguages = ["fr", "de"]
        let german = VirtualProgramme(
            ["film": film(lines: lines, languages: ["eng", "deu"])], first: "film", options: options)
        german.run(for: .seconds(1))
        #expect(german.screen.shown.last?.numbers == [4])
        options.subtitles = .none
        let none = VirtualProgramme(
            ["film": film(lines: lines, languages: ["eng", "deu"])], first: "film", options: options)
        none.run(for: .seconds(1))
        #expect(none.screen.shown.last?.numbers == [])
    }

    @Test func seeksLeadToTheNextSubtitleAndBackToBeforeTheSeek() {
        let lines = [[CountedSubtitle(3, at: 2, for: 1), CountedSubtitle(4, at: 6, for: 1)]]
        let programme = VirtualProgramme(["film": film(lines: lines, languages: ["eng"])], first: "film")
        programme.core.selectSubtitles(1)
        programme.run(for: .seconds(1))
        #expect(programme.core.seek(bySubtitles: 1))
        programme.run(for: .milliseconds(500))
        #expect(programme.screen.shown.last?.numbers == [3])
        #expect(programme.core.revertSeek())
        programme.run(for: .milliseconds(300))
        #expect(programme.core.state.position.seconds < 2 && programme.screen.shown.last?.numbers == [])
        // The one in six seconds is to be seen now.
        programme.core.selectSubtitles(1)
        programme.run(for: .milliseconds(200))
        #expect(programme.core.step(bySubtitles: 1))
        programme.run(for: .milliseconds(200))
        #expect(programme.core.state.subtitleDelay < .zero && programme.screen.shown.last?.numbers == [3])
        #expect(!programme.core.seek(bySubtitles: 50))
    }

    @Test func subtitlesInTheLanguageOfTheSessionAreShown() {
        let lines = [[CountedSubtitle(3, at: 0, for: 10)], [CountedSubtitle(4, at: 0, for: 10)]]
        var options = PlayerOptions()
        options.userLanguages = ["de-DE"]
        let german = VirtualProgramme(
            ["film": film(lines: lines, languages: ["eng", "deu"])], first: "film", options: options)
        german.run(for: .seconds(1))
        #expect(german.screen.shown.last?.numbers == [4])
    }

    @Test func theLanguagesOfASessionAreThoseOfItsLocale() {
        func languages(_ environment: [String: String]) -> [String] { PlayerOptions.userLanguages { environment[$0] } }
        #expect(languages([:]) == [] && languages(["LANG": "C.UTF-8", "LC_ALL": "POSIX"]) == [])
        #expect(languages(["LANG": "de_DE.UTF-8"]) == ["de-DE"])
        #expect(languages(["LANG": "de_DE.UTF-8", "LC_MESSAGES": "fr_CA", "LC_ALL": ""]) == ["fr-CA"])
        #expect(languages(["LANG": "de_DE@euro", "LANGUAGE": "it:en_GB:it_CH::de"]) == ["it", "en-GB", "de"])
        #expect(languages(["LC_ALL": "sv_SE.UTF-8", "LC_MESSAGES": "fr_FR"]) == ["sv-SE"])
    }

    @Test func aFilmWithoutSubtitlesSaysSoWhenTheyAreAskedFor() {
        let programme = VirtualProgramme(["film": film(lines: [])], first: "film")
        programme.run(for: .seconds(1))
        programme.core.cycleSubtitles(by: 1)
        let messages = programme.playerEvents.compactMap { if case .message(let text) = $0 { text } else { nil } }
        #expect(messages == ["This film has no subtitles."])
    }
}
