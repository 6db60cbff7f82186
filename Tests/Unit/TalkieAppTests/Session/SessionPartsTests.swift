import MediaCore
import Playback
import Testing

@testable import TalkieApp

/// The values that a session is made of.
@Suite struct SessionPartsTests {
    private func second(_ count: Double) -> MediaTime { MediaTime(seconds: count, preferredTimescale: 1000) }

    @Test func theNextEpisodeIsOfferedTwentySecondsBeforeTheEndButNotEarlierThanInTheLastTenth() {
        #expect(EpisodeOffer.moment(of: second(3600)) == second(3580))
        #expect(EpisodeOffer.moment(of: second(100)) == second(90))
        #expect(EpisodeOffer.moment(of: nil) == nil)
    }

    @Test func aRowOfAListIsATrackAChapterOrASpeed() {
        var state = PlayerState()
        state.chapters = [Chapter(start: .zero), Chapter(start: second(5))]
        func command(_ row: Int, _ subject: ChoiceList.Subject) -> [String] {
            SessionPanel.commands(row, of: subject, in: state).map { $0.map(\.words).joined(separator: " ") }
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
        #expect(command(0, .sound) == [])
        #expect(command(0, .speed) == ["set speed \(Decimals.short(ChoiceList.speeds[0]))"])
        #expect(command(ChoiceList.speeds.count, .speed) == [])
    }
}
