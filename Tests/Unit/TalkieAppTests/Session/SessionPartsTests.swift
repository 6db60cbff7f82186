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
        #expect(SessionPanel.selection(1, of: .chapters, in: state) == .chapter(second(5)))
        #expect(SessionPanel.selection(2, of: .chapters, in: state) == nil, "another film has begun meanwhile")
        #expect(SessionPanel.selection(0, of: .subtitles, in: state) == .subtitles(nil))
        #expect(SessionPanel.selection(1, of: .subtitles, in: state) == nil)
        let format = SubtitleFormat(parameters: CodecParameters(codec: "none"))
        state.subtitleTracks = [Track(id: 4, number: 3, format: .subtitle(format))]
        #expect(SessionPanel.selection(1, of: .subtitles, in: state) == .subtitles(3))
        #expect(SessionPanel.selection(0, of: .sound, in: state) == nil)
        #expect(SessionPanel.selection(0, of: .speed, in: state) == .speed(ChoiceList.speeds[0]))
        #expect(SessionPanel.selection(ChoiceList.speeds.count, of: .speed, in: state) == nil)
    }
}
