import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import Playback

@Suite struct PlayerStatePublisherTests {
    private let board = PlayerStatePublisher(timebase: RenderSynchronizer(clock: ManualClock()).timebase)

    private func state(_ title: String) -> PlayerState {
        var state = PlayerState()
        state.title = title
        return state
    }

    @Test(.timeLimit(.minutes(10))) func aLateReaderReceivesTheLatestState() async {
        board.post(state("film"))
        board.update(loadedUntil: MediaTime(value: 5, timescale: 1), handedUntil: MediaTime(value: 3, timescale: 1))
        var states = board.states().makeAsyncIterator()
        let first = await states.next()
        #expect(first?.title == "film" && first?.handedUntil == MediaTime(value: 3, timescale: 1))
        board.post(state("next"))
        #expect(await states.next()?.title == "next")
        #expect(board.state.handedUntil == MediaTime(value: 3, timescale: 1), "kept from one post to the next")
    }

    @Test(.timeLimit(.minutes(10))) func theLastStateComesBeforeTheEnd() async {
        board.post(state("film"))
        let states = board.states()
        board.post(state("last"))
        board.finish()
        var heard: [String] = []
        for await state in states { heard.append(state.title) }
        #expect(heard == ["last"])
        for await state in board.states() { heard.append(state.title) }
        #expect(heard == ["last", "last"])
    }
}
