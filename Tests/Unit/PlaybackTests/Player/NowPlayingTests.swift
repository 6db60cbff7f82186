import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// What a player lets its outputs display, and the commands that they send.
@Suite struct PlayerNowPlayingTests {
    private func seconds(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1) }

    /// Two recordings of two seconds.
    private func queue(_ change: (inout PlayerOptions) -> Void = { _ in }) -> VirtualQueue {
        var options = PlayerOptions()
        change(&options)
        let queue = VirtualQueue(options)
        queue.core.apply(.append([QueueItem("1/16000", title: "One"), QueueItem("2/16000", title: "Two")]))
        queue.core.play()
        return queue
    }

    @Test func outputsDisplayEachItemFromItsBeginningOnAndItsPosition() throws {
        let queue = queue()
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        let first = try #require(queue.card.nowPlaying.last ?? nil)
        #expect(first.title == "One" && first.duration == seconds(2) && first.start == .zero)
        queue.run(for: .seconds(3))
        let second = try #require(queue.card.nowPlaying.last ?? nil)
        #expect(second.title == "Two" && second.start == seconds(2))
        #expect(second.elapsed(at: queue.synchronizer.currentTime()) == queue.state.position)
        // Gapless: each item was shown once, without a state between them.
        #expect(
            queue.card.nowPlaying.compactMap { $0?.title }.reduce(into: [String]()) { titles, title in
                if titles.last != title { titles.append(title) }
            } == ["One", "Two"])
        queue.core.seek(to: seconds(1), exact: true)
        queue.run(for: .milliseconds(500))
        let sought = try #require(queue.card.nowPlaying.last ?? nil)
        #expect(sought.title == "Two")
        #expect(sought.elapsed(at: queue.synchronizer.currentTime()) == queue.state.position)
    }

    @Test func timeAloneChangesNothingThatIsDisplayed() {
        let queue = queue()
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        let count = queue.card.nowPlaying.count
        queue.run(for: .seconds(1))
        queue.core.pause()
        queue.run(for: .seconds(1))
        #expect(queue.card.nowPlaying.count == count)
    }

    @Test func commandsOfAnOutputControlThePlayer() throws {
        let queue = queue()
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        let context = try #require(queue.card.context)
        context.send(.pause)
        #expect(queue.run(untilPhase: .paused, atMost: .seconds(1)))
        context.send(.togglePause)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(1)))
        context.send(.stop)
        #expect(queue.run(untilPhase: .paused, atMost: .seconds(1)))
        context.send(.play)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(1)))
        context.send(.next)
        queue.run(for: .milliseconds(500))
        #expect(queue.state.title == "Two")
        try #require(queue.card.context).send(.previous)
        queue.run(for: .milliseconds(500))
        #expect(queue.state.title == "One")
        try #require(queue.card.context).send(.toggleMute)
        queue.run(for: .milliseconds(100))
        #expect(queue.state.isMuted)
    }

    @Test func anOutputSkipsForwardAndBack() throws {
        let queue = VirtualQueue(PlayerOptions())
        queue.core.apply(.append([QueueItem("1/400000", title: "One")]))
        queue.core.play()
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        for (distance, expected) in [(20, 21), (-10, 12), (-30, 1)] as [(Int64, Double)] {
            try #require(queue.card.context).send(.seek(by: seconds(distance)))
            queue.run(for: .seconds(1))
            #expect(abs(queue.state.position.seconds - expected) < 1, "\(distance)")
        }
    }

    @Test func anOutputUsesTheProgramsCommands() throws {
        let queue = queue()
        let performed = Lock<[String]>([])
        var table = ControlTable.player
        table.add(
            ControlCommand(
                "playlist-next", [], "plays the next film, or the offered episode",
                perform: { request, reply in
                    performed.withLock { $0.append(request.command.name) }
                    reply(.success(.null))
                }))
        let control = PlayerControl(queue.mailbox, queue.board, table: table)
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        let context = try #require(queue.card.context)
        context.send(.next)
        context.send(.toggleMute)
        queue.run(for: .milliseconds(100))
        #expect(performed.withLock { $0 } == ["playlist-next"])
        #expect(queue.state.title == "One" && queue.state.isMuted)
        control.close()
    }

    @Test func aPlayerThatDoesNotObeyItsOutputsContinues() throws {
        let queue = queue { $0.obeysOutputs = false }
        #expect(queue.run(untilPhase: .playing, atMost: .seconds(2)))
        try #require(queue.card.context).send(.pause)
        queue.run(for: .milliseconds(500))
        #expect(queue.phase == .playing)
    }

    @Test func aVolumeSetAtAnOutputIsAdoptedForThatOutput() throws {
        let house = VirtualHouse("card", "Kitchen")
        house.run(for: .seconds(1))
        try #require(house.outputs[1].context).send(.setVolume(40))
        house.run(for: .milliseconds(100))
        #expect(house.group.volume(of: house.outputs[1]) == 40)
        #expect(house.group.volume(of: house.outputs[0]) == 100)
        #expect(house.core.state.volume == 100)
        try #require(house.outputs[0].context).send(.changeVolume(by: -10))
        house.run(for: .milliseconds(100))
        #expect(house.group.volume(of: house.outputs[0]) == 90)
        #expect(house.group.volume(of: house.outputs[1]) < 40)
        #expect(house.core.state.volume == 90)
    }

    @Test func aVolumeSetAtAnOutputOfAnAddedSoundRemains() throws {
        let queue = VirtualQueue()
        let group = OutputGroup(members: [queue.kitchen], codecs: SyntheticCodecs())
        queue.core.addAudio(.language("ru"), to: group, number: 1)
        let number = try #require(group.number(of: queue.kitchen))
        OutputCommand.setVolume(40).perform(
            on: queue.core, from: OutputID(AddedAudioTrack.outputID(of: 1).index + number))
        queue.core.audioControl.setVolume(80)
        #expect(group.volume(of: queue.kitchen) == 40)
    }
}
