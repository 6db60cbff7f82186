import MediaCore
import Playback
import SyncRendering
import Testing

@testable import ScreenOutput
@testable import TalkieApp

/// The values that a session is made of.
@Suite struct SessionPartsTests {
    private func second(_ count: Double) -> MediaTime { MediaTime(seconds: count, preferredTimescale: 1000) }

    @Test func theNextEpisodeIsOfferedTwentySecondsBeforeTheEndButNotEarlierThanInTheLastTenth() {
        #expect(EpisodeOffer.offerTime(of: second(3600)) == second(3580))
        #expect(EpisodeOffer.offerTime(of: second(100)) == second(90))
        #expect(EpisodeOffer.offerTime(of: nil) == nil)
    }

    @Test func screenshotsAreTakenOneAtATimeAndALimitedNumberWaits() throws {
        let (screen, answers) = (ScreenControl(), Lock<[String]>([]))
        let screenshots = SessionScreenshots(screen, DisplayLayer(depth: 1), SessionMailbox())
        let command = try ControlTable.unbound.request(["screenshot", "window"])
        for _ in 0..<SessionScreenshots.maxWaiting + 3 {
            screenshots.capture(command) { result in
                if case .failure(let error) = result { answers.withLock { $0.append(error.message) } }
            }
        }
        #expect(answers.withLock { $0.count } == 2, "too many")
        var taken = 0
        while true {
            var commands: [ScreenControl.Command] = []
            screen.moveCommands(into: &commands)
            guard case .snapshot(.window, let reply)? = commands.first else { break }
            #expect(commands.count == 1)
            taken += 1
            reply(nil)
        }
        #expect(taken == SessionScreenshots.maxWaiting + 1 && answers.withLock { $0.count } == taken + 2)
        screenshots.capture(command) { _ in }
        var commands: [ScreenControl.Command] = []
        screen.moveCommands(into: &commands)
        #expect(commands.count == 1, "none is being taken")
    }

    @Test func aRowOfAListIsATrackAChapterOrASpeed() {
        var state = PlayerState()
        state.chapters = [Chapter(start: .zero), Chapter(start: second(5))]
        func command(_ row: Int, _ subject: ChoiceList.Subject) -> [String] {
            SessionPanel.commands(row, of: subject, in: state).map { $0.map(\.mpvText).joined(separator: " ") }
        }
        #expect(command(1, .chapters) == ["set chapter 1"])
        #expect(command(2, .chapters) == [], "another film has begun meanwhile")
        #expect(command(0, .subtitles) == ["set sid no"])
        #expect(command(1, .subtitles) == [])
        let format = SubtitleFormat(parameters: CodecParameters(codec: "none"))
        state.subtitleTracks = [Track(id: 4, number: 3, format: .subtitle(format))]
        #expect(command(1, .subtitles) == ["set sid 3"])
        state.showsSubtitles = false
        #expect(command(1, .subtitles) == ["set sid 3", "set sub-visibility yes"])
        #expect(command(0, .audio) == [])
        #expect(command(0, .speed) == ["set speed \(Decimals.short(ChoiceList.speeds[0]))"])
        #expect(command(ChoiceList.speeds.count, .speed) == [])
    }
}
