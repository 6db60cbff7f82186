import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// Films that disappear while they loop, and films without decodable media.
@Suite struct LostFilmTests {
    private let film = VanishingFilm(CountedFilm(1, frameCount: 50, audioFrameCount: 96_000))

    private func loop(_ film: VanishingFilm, depth: Duration = .seconds(1)) -> VirtualProgramme {
        var options = PlayerOptions()
        options.loopFile = .forever
        return VirtualProgramme(["film": film], first: "film", options: options, depth: depth)
    }

    /// Returns the number of reported losses.
    private func losses(_ programme: VirtualProgramme) -> Int {
        programme.playerEvents.count { if case .lost = $0 { true } else { false } }
    }

    @Test(arguments: [1, 30]) func aLoopedFilmThatWasMovedLoopsFromWhatIsOpenWithSoundAndPicture(depth: Int) {
        let programme = loop(film, depth: .seconds(depth))
        programme.run(for: .milliseconds(500))
        film.presence.withLock { $0 = .moved }
        programme.run(for: .seconds(10))
        #expect(programme.phase == .playing || programme.phase == .buffering)
        #expect(!programme.numbers.contains(nil), "never black")
        #expect(losses(programme) == 0)
        // Each pass has both audio and video.
        #expect(programme.numbers.count { $0 == 1_000_000 } >= 4)
        #expect(programme.playerEvents.count { if case .sought = $0 { true } else { false } } >= 4)
        #expect(programme.core.state.hasVideo && programme.core.state.hasAudio)
        let messages = programme.playerEvents.compactMap { if case .message(let text) = $0 { text } else { nil } }
        #expect(messages.count == 1, "\(messages)")
        film.presence.withLock { $0 = .there }
        programme.run(for: .seconds(5))
        let rounds = programme.began.count
        programme.run(for: .seconds(6))
        #expect(programme.began.count >= rounds + 2, "without a seam again")
    }

    @Test func aLoopedFilmOnAStickThatWasPulledLosesSoundAndPictureTogetherAndIsBackWithinASecond() throws {
        let programme = loop(film)
        programme.run(for: .milliseconds(3500))
        film.presence.withLock { $0 = .gone }
        programme.run(for: .seconds(10))
        #expect(programme.phase == .opening)
        #expect(losses(programme) == 1)
        #expect(!programme.numbers.contains(nil))
        let attempts = programme.opened.withLock { $0.count }
        // The pauses grow: at most three attempts in two seconds.
        programme.run(for: .seconds(2))
        let more = programme.opened.withLock { $0.count } - attempts
        #expect((2...3).contains(more))
        let (shown, heard) = (programme.shown.count, programme.tape.tape.span)
        film.presence.withLock { $0 = .there }
        programme.run(for: .seconds(1))
        #expect(programme.phase == .playing)
        programme.run(for: .milliseconds(500))
        #expect(programme.shown.count > shown + 10 && programme.tape.tape.span > heard)
        programme.run(for: .seconds(6))
        #expect(programme.began.suffix(2) == ["again", "again"])
    }

    @Test func aLostFilmIsLeftForAnotherAndEndsWhenItIsNotToLoopAnyMore() {
        for isLeft in [true, false] {
            let other = CountedFilm(2, frameCount: 25, audioFrameCount: 48_000)
            var options = PlayerOptions()
            options.loopFile = .forever
            let film = VanishingFilm(CountedFilm(1, frameCount: 50, audioFrameCount: 96_000))
            let programme = VirtualProgramme(["film": film, "other": other], first: "film", options: options)
            programme.run(for: .seconds(1))
            film.presence.withLock { $0 = .gone }
            #expect(programme.run(untilPhase: .opening, atMost: .seconds(5)))
            if isLeft {
                programme.core.open("other")
                programme.run(for: .seconds(1))
                #expect(programme.phase == .playing)
            } else {
                programme.core.setLoop(.times(0))
                #expect(programme.phase == .ended)
            }
            film.presence.withLock { $0 = .there }
            programme.run(for: .seconds(2))
            #expect(programme.opened.withLock { $0.last } == (isLeft ? "other" : "film"))
        }
    }

    @Test func aFilmOfTheListThatVanishedAfterItWasOpenedIsPassedOverWithSoundAndPicture() {
        let films = [1, 2, 3].map { VanishingFilm(CountedFilm($0, frameCount: 50, audioFrameCount: 96_000)) }
        let programme = VirtualProgramme(["one": films[0], "two": films[1], "three": films[2]], first: "one")
        programme.hold("prefetch pictures")
        programme.core.setNext([QueueItem("two"), QueueItem("three")])
        programme.run(for: .milliseconds(300))
        #expect(programme.opened.withLock { $0 } == ["one", "two"])
        films[1].presence.withLock { $0 = .gone }
        programme.letGo("prefetch pictures")
        #expect(programme.run(untilPhase: .ended, atMost: .seconds(20)))
        #expect(programme.failed == ["two cannot-open"])
        #expect(programme.began == ["three"])
        #expect(!programme.numbers.contains(nil))
        #expect(!programme.numbers.contains { $0.map { $0 / 1_000_000 == 2 } ?? false })
        #expect(!programme.tape.content.contains { $0?.sound == 2 })
    }

    @Test(arguments: [(50, 96_000), (0, 96_000), (50, 0)])
    func aFilmOfWhichNothingCanBeDecodedIsRefusedAtOnce(pictures: Int, soundFrames: Int) {
        let film = VanishingFilm(CountedFilm(1, frameCount: pictures, audioFrameCount: soundFrames), .empty)
        let programme = VirtualProgramme(["film": film], first: "film")
        #expect(programme.run(untilPhase: .failed, atMost: .seconds(3)))
        #expect(programme.core.state.failure?.code == .cannotOpen)
        // A loop does not retry it either.
        let looped = loop(film)
        #expect(looped.run(untilPhase: .failed, atMost: .seconds(3)))
        #expect(looped.opened.withLock { $0.count } == 1)
    }
}
