import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Interstitials (RFC 8216bis, appendix D), in virtual time.
@Suite struct InterstitialTests {
    private func second(_ count: Double) -> MediaTime { MediaTime(seconds: count, preferredTimescale: 1000) }

    private func interstitial(
        at place: Double = 3, _ address: String = "ad", resume: Double? = 0, limit: Double = 60
    ) -> Interstitial {
        Interstitial(
            id: "\(place)", position: .at(second(place)), assets: .one(address), resumeOffset: resume.map(second),
            limit: second(limit))
    }

    /// A film of ten seconds; interstitials of two seconds and one second.
    private func programme(
        _ interstitials: [Interstitial], sharesReader: Bool = false, options: PlayerOptions = PlayerOptions(),
        lists: [String: [String]] = [:]
    ) -> VirtualProgramme {
        let film = CountedFilm(1, sharesReader: sharesReader)
        film.summary.interstitials = interstitials
        let programme = VirtualProgramme(
            [
                "film": film, "ad": CountedFilm(2, frameCount: 50, audioFrameCount: 96_000),
                "short": CountedFilm(3, frameCount: 25, audioFrameCount: 48_000),
                "live": CountedFilm(4, statesLength: false, sharesReader: true, isLive: true),
            ], first: "film", options: options, lists: lists)
        programme.run(for: .milliseconds(200))
        return programme
    }

    private typealias Part = (film: Int, from: Double, to: Double)

    /// Expects exactly these parts, to the sample and the frame, on one timeline without a wait; the last one may be
    /// truncated.
    private func expect(
        _ parts: [Part], of programme: VirtualProgramme, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let tape = programme.tape
        #expect(tape.doubled == 0 && tape.blanks == 0 && programme.dropped == 0, sourceLocation: sourceLocation)
        let sounds = parts.map { part in
            (
                sound: part.film,
                frames: Int64((part.from * 48_000).rounded())..<Int64((part.to * 48_000).rounded())
            )
        }
        let length = sounds.reduce(0) { $0 + $1.frames.count }
        #expect(tape.tape.span > length * 3 / 4, "\(tape.tape.span) of \(length)", sourceLocation: sourceLocation)
        #expect(tape.tape.firstMismatch(with: sounds) == nil, sourceLocation: sourceLocation)
        let pictures = parts.flatMap { part in
            (Int((part.from * 25).rounded(.down))..<Int((part.to * 25).rounded(.up))).map { part.film * 1_000_000 + $0 }
        }
        let shown = programme.numbers.map { $0 ?? -1 }
        #expect(shown.count > pictures.count * 3 / 4, sourceLocation: sourceLocation)
        #expect(shown == Array(pictures.prefix(shown.count)), sourceLocation: sourceLocation)
        let waits = programme.playerEvents.filter { if case .phase(.buffering) = $0 { true } else { false } }.count
        #expect(waits == 1, sourceLocation: sourceLocation)
    }

    private func messageCount(_ programme: VirtualProgramme, _ words: String) -> Int {
        programme.playerEvents.count { if case .message(let text) = $0 { text.contains(words) } else { false } }
    }

    @Test(arguments: [false, true]) func itPlaysInTheMiddleOfItsFilmToTheSampleAndThePicture(_ sharesReader: Bool) {
        let programme = programme([interstitial()], sharesReader: sharesReader)
        programme.run(for: .milliseconds(3800))
        #expect(programme.state.title == "Interstitial – film")
        #expect(programme.state.position == second(3), "the film stands")
        #expect(programme.state.duration == second(10))
        programme.run(for: .seconds(4))
        #expect(programme.state.title == "film" && (4...8).contains(programme.state.position.seconds))
        programme.run(for: .seconds(3))
        expect([(1, 0, 3), (2, 0, 2), (1, 3, 10)], of: programme)
        #expect(programme.restarted == ["film"] && messageCount(programme, "continues after it") == 1)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(5)))
    }

    @Test func playbackResumesAtTheResumeOffsetOrAfterTheInterstitialsDuration() {
        let said = programme([interstitial(resume: 1)])
        said.run(for: .seconds(9))
        expect([(1, 0, 3), (2, 0, 2), (1, 4, 10)], of: said)
        let unsaid = programme([interstitial(resume: nil)])
        unsaid.run(for: .seconds(9))
        expect([(1, 0, 3), (2, 0, 2), (1, 5, 10)], of: unsaid)
    }

    @Test func severalPartsOfAListFollowOneAnotherUpToTheLimit() {
        var one = interstitial(limit: 3.5)
        one.assets = .list("list")
        let programme = programme([one, interstitial(at: 5, "short")], lists: ["list": ["ad", "short", "ad", "ad"]])
        programme.run(for: .milliseconds(5500))
        #expect(programme.state.title == "Interstitial 2 of 4 – film")
        programme.run(for: .seconds(9))
        expect(
            [(1, 0, 3), (2, 0, 2), (3, 0, 1), (2, 0, 0.5), (1, 3, 5), (3, 0, 1), (1, 5, 10)], of: programme)
    }

    @Test(arguments: ["gone", "live"]) func anUnplayableInterstitialIsSkippedAndReportedOnce(_ address: String) {
        let programme = programme([interstitial(address, resume: 2), interstitial(at: 5, "ad")])
        programme.run(for: .seconds(9))
        expect([(1, 0, 3), (1, 3, 5), (2, 0, 2), (1, 5, 10)], of: programme)
        #expect(messageCount(programme, "is skipped") == 1)
        #expect(programme.failed.isEmpty)
    }

    @Test func aListThatCannotBeHadLeavesTheFilmWhole() {
        var one = interstitial()
        one.assets = .list("nowhere")
        let programme = programme([one])
        programme.run(for: .seconds(9))
        expect([(1, 0, 10)], of: programme)
        #expect(messageCount(programme, "plays without them") == 1)
    }

    @Test func interstitialsOfInterstitialsAreNone() {
        let film = CountedFilm(1)
        film.summary.interstitials = [interstitial()]
        let ad = CountedFilm(2, frameCount: 50, audioFrameCount: 96_000)
        ad.summary.interstitials = [interstitial(at: 1)]
        let programme = VirtualProgramme(["film": film, "ad": ad], first: "film")
        programme.run(for: .seconds(11))
        expect([(1, 0, 3), (2, 0, 2), (1, 3, 10)], of: programme)
    }

    @Test func aSeekPastAnInterstitialSkipsItUnlessMandatory() {
        let free = programme([interstitial()])
        free.core.seek(to: second(6), exact: true)
        free.run(for: .seconds(2))
        #expect((6...8).contains(free.state.position.seconds) && free.state.title == "film")
        var one = interstitial()
        one.forbidsJumping = true
        let held = programme([one])
        held.core.seek(by: second(6), exact: true)
        held.run(for: .seconds(1))
        #expect(held.state.title == "Interstitial – film" && messageCount(held, "is played first") == 1)
        held.run(for: .seconds(3))
        #expect(held.state.title == "film" && (6...9).contains(held.state.position.seconds))
        held.core.seek(to: second(1), exact: true)
        held.run(for: .seconds(1))
        held.core.seek(to: second(8), exact: true)
        held.run(for: .seconds(1))
        #expect(held.state.position >= second(8), "it was seen")
    }

    @Test func oneThatMayNotBeSkippedStaysAndSaysSo() {
        var one = interstitial()
        one.forbidsSkipping = true
        let programme = programme([one])
        programme.run(for: .milliseconds(3500))
        for attempt in [
            { programme.core.seek(by: self.second(10), exact: true) },
            { programme.core.seek(to: self.second(9), exact: true) },
            { programme.core.skip() },
        ] { attempt() }
        programme.core.setSpeed(2)
        #expect(programme.state.speed == 1)
        programme.run(for: .milliseconds(200))
        #expect(programme.state.title == "Interstitial – film" && messageCount(programme, "cannot be skipped") == 3)
        programme.core.seek(to: second(1), exact: true)
        programme.run(for: .milliseconds(500))
        #expect(programme.state.title == "film" && (1...2).contains(programme.state.position.seconds))
        let free = self.programme([interstitial()])
        free.run(for: .milliseconds(3500))
        free.core.skip()
        free.run(for: .milliseconds(500))
        #expect(free.state.title == "film" && (3...4).contains(free.state.position.seconds))
    }

    @Test func oneBeforeAndOneBehindTheFilmHaveTheirPlaces() {
        var (before, after) = (interstitial("ad"), interstitial("short"))
        (before.position, after.position) = (.before, .after)
        let programme = programme([before, after])
        programme.run(for: .seconds(1))
        #expect(programme.state.title == "Interstitial – film" && programme.state.position == .zero)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        expect([(2, 0, 2), (1, 0, 10), (3, 0, 1)], of: programme)
    }

    /// RFC 8216bis, 4.4.5.1: `PRE` before each playback of the item, `ONCE` once in each.
    @Test func theOneBeforeTheFilmAndTheOneOfOncePlayInEachPassOfTheList() {
        var options = PlayerOptions()
        options.loopPlaylist = .forever
        var (before, once) = (interstitial("ad"), interstitial(at: 3, "short"))
        (before.position, before.isOnce, once.isOnce) = (.before, true, true)
        let programme = programme([before, once], options: options)
        programme.run(for: .seconds(24))
        let pass: [Part] = [(2, 0, 2), (1, 0, 3), (3, 0, 1), (1, 3, 10)]
        expect(pass + pass, of: programme)
    }

    @Test func theOneOfOncePlaysOnceInAPlayback() {
        var once = interstitial("ad")
        once.isOnce = true
        let programme = programme([once])
        programme.run(for: .seconds(6))
        #expect(programme.state.title == "film" && programme.state.position > second(3))
        programme.core.seek(to: second(2), exact: true)
        programme.run(for: .seconds(3))
        #expect(programme.state.title == "film" && programme.state.position > second(3))
    }

    @Test func aFilmThatIsReturnedToBeginsWithItsInterstitial() {
        var options = PlayerOptions()
        options.loopPlaylist = .forever
        var before = interstitial("ad")
        before.position = .before
        let programme = programme([before], options: options)
        programme.core.apply(.append([QueueItem("short")]))
        programme.run(for: .seconds(3))
        #expect(programme.state.title == "film")
        programme.core.step(by: 1)
        programme.run(for: .milliseconds(500))
        #expect(programme.state.title == "short")
        programme.core.step(by: -1)
        programme.run(for: .milliseconds(500))
        #expect(programme.state.title == "Interstitial – film")
    }

    @Test func severalBehindTheFilmFollowOneAnother() {
        var (first, second) = (interstitial("short"), interstitial("ad"))
        (first.position, second.position) = (.after, .after)
        let programme = programme([first, second])
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        expect([(1, 0, 10), (3, 0, 1), (2, 0, 2)], of: programme)
    }

    @Test func aFilmFromTheListThatFollowsKeepsItsInterstitials() {
        let film = CountedFilm(1)
        film.summary.interstitials = [interstitial(at: 2)]
        let programme = VirtualProgramme(
            [
                "first": CountedFilm(3, frameCount: 50, audioFrameCount: 96_000), "film": film,
                "ad": CountedFilm(2, frameCount: 50, audioFrameCount: 96_000),
            ],
            first: "first")
        programme.core.apply(.append([QueueItem("film")]))
        programme.run(for: .seconds(12))
        expect([(3, 0, 2), (1, 0, 2), (2, 0, 2), (1, 2, 10)], of: programme)
    }

    /// Like HLS: seekable, with one reader for all tracks.
    @Test func aFilmWithOneReaderLoopsWithoutASeam() {
        var options = PlayerOptions()
        options.loopFile = .times(2)
        let film = CountedFilm(1, frameCount: 50, audioFrameCount: 96_000, sharesReader: true)
        let programme = VirtualProgramme(["film": film], first: "film", options: options)
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(10)))
        expect([(1, 0, 2), (1, 0, 2), (1, 0, 2)], of: programme)
    }
}
