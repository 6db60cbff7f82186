import LocalOutput
import MediaCore
import Playback
import Testing

@testable import TalkieApp

@Suite struct BarTests {
    private let now = HostInstant(nanoseconds: 1_000_000_000_000)

    @Test func theBarStaysTwoSecondsBehindThePointerAndLongerUnderIt() {
        var bar = BarVisibility()
        #expect(!bar.isShown(at: now))
        bar.pointerMoved(at: now, isOverBar: false)
        #expect(bar.isShown(at: now.advanced(by: .milliseconds(1999))))
        #expect(!bar.isShown(at: now.advanced(by: .seconds(2))))
        bar.pointerMoved(at: now, isOverBar: true)
        #expect(bar.isShown(at: now.advanced(by: .seconds(9))))
        #expect(!bar.isShown(at: now.advanced(by: .seconds(10))))
    }

    @Test func itShowsWhatThereIsToChooseAndNoMore() {
        var state = PlayerState()
        (state.phase, state.duration) = (.playing, MediaTime(value: 100, timescale: 1))
        state.position = MediaTime(value: 25, timescale: 1)
        let plain = ScreenBar(state, hasRooms: false, hasPrevious: false, hasNext: false)
        #expect(plain.place == 0.25)
        #expect(plain.isPlaying)
        #expect(plain.buttons == [.speed: "×1", .fullScreen: ""])
        state.subtitleTrackCount = 2
        state.speed = 1.25
        let more = ScreenBar(state, hasRooms: true, hasPrevious: true, hasNext: true)
        #expect(more.buttons == [.speed: "×1.25", .fullScreen: "", .rooms: "Rooms", .subtitles: "Subtitles 0/2"])
    }

    @Test func aTenthOfASecondOfATwoHourFilmLooksTheSame() {
        var state = PlayerState()
        (state.phase, state.duration) = (.playing, MediaTime(value: 7200, timescale: 1))
        state.position = MediaTime(value: 10_0, timescale: 10)
        let first = ScreenBar(state, hasRooms: true, hasPrevious: false, hasNext: false)
        state.position = MediaTime(value: 10_1, timescale: 10)
        #expect(ScreenBar(state, hasRooms: true, hasPrevious: false, hasNext: false) == first)
    }
}
