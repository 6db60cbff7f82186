import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

@Suite struct ControlObservationTests {
    private let heard = Lock<[String]>([])

    private func handler(_ name: String) -> @Sendable (JSONValue?) -> Void {
        { [heard] value in heard.withLock { $0.append("\(name) \(value?.mpvText ?? "-")") } }
    }

    private func take() -> [String] {
        heard.withLock { heard in
            defer { heard = [] }
            return heard
        }
    }

    private func pass(_ observations: inout ControlObservations, _ state: PlayerState, isTick: Bool = false) -> [String]
    {
        for (handler, value) in observations.changes(in: state, isTick: isTick) { handler(value) }
        return take()
    }

    @Test func thePresentValueComesFirstAndThenOnlyChanges() throws {
        var observations = ControlObservations()
        let number = observations.add(try ControlTable.player.property("pause"), handler("pause"))
        _ = observations.add(try ControlTable.player.property("duration"), handler("duration"))
        var state = PlayerState()
        #expect(pass(&observations, state) == ["pause no", "duration -"])
        #expect(pass(&observations, state) == [])
        state.isPaused = true
        state.duration = MediaTime(value: 3, timescale: 2)
        #expect(pass(&observations, state) == ["pause yes", "duration 1.5"])
        observations.remove(number)
        state.isPaused = false
        #expect(pass(&observations, state) == [])
    }

    @Test func aTickComparesOnlyThePosition() throws {
        var observations = ControlObservations()
        var state = PlayerState()
        state.phase = .playing
        _ = observations.add(try ControlTable.player.property("pause"), handler("pause"))
        #expect(!observations.needsTicks(in: state), "no observed property is continuous")
        _ = observations.add(try ControlTable.player.property("time-pos"), handler("time-pos"))
        #expect(observations.needsTicks(in: state))
        #expect(pass(&observations, state) == ["pause no", "time-pos 0"])
        (state.position, state.isPaused) = (MediaTime(value: 1, timescale: 4), true)
        #expect(pass(&observations, state, isTick: true) == ["time-pos 0.25"])
        state.phase = .paused
        #expect(!observations.needsTicks(in: state))
        #expect(pass(&observations, state) == ["pause yes"])
    }

    @Test func aLongPlaylistIsDescribedAgainOnlyWhenItHasChanged() throws {
        let table = ControlTable.player
        let playlist = try table.property("playlist")
        /// Returns the address of a description's memory, which a new description has not: the last one still exists.
        func memory(_ state: PlayerState) -> Int? {
            guard case .array(let films)? = playlist.read(state) else { return nil }
            return films.withUnsafeBytes { Int(bitPattern: $0.baseAddress) }
        }
        var observations = ControlObservations()
        let notifications = Lock(0)
        _ = observations.add(playlist) { _ in notifications.withLock { $0 += 1 } }
        var state = PlayerState()
        state.items = (0..<10_000).map { QueueItem("film \($0).mp4") }
        (state.current, state.phase) = (state.items[0], .playing)
        let first = memory(state)
        for number in 0..<100 {
            state.isPaused.toggle()
            state.volume = Double(number)
            state.position = MediaTime(value: Int64(number), timescale: 4)
            for (handler, value) in observations.changes(in: state, isTick: false) { handler(value) }
            #expect(memory(state) == first)
        }
        #expect(notifications.withLock { $0 } == 1)
        state.current = state.items[1]
        let second = memory(state)
        #expect(second != first)
        #expect(try table.property("playlist/1/current").read(state) == .flag(true))
        state.items.removeLast()
        #expect(memory(state) != second)
        #expect(try table.property("playlist/count").read(state) == .integer(9999))
        state.phase = .opening
        #expect(try table.property("playlist/1/playing").read(state) == .flag(false))
    }

    @Test func withoutObserversNothingIsCollected() throws {
        let board = PlayerStatePublisher(timebase: RenderSynchronizer(clock: ManualClock()).timebase)
        board.changes.report(.message("early"))
        board.changes.raise()
        #expect(board.changes.consumeEvents().isEmpty && !board.changes.signal.tryWait())
        let observer = ControlObserver(board)
        let arrived = Signal()
        let number = try observer.add { $0.add { (_: PlayerEvent) in arrived.raise() } }
        for _ in 0..<1000 { board.changes.report(.message("late")) }
        arrived.wait()
        observer.remove(number)
        board.changes.report(.message("later"))
        #expect(board.changes.consumeEvents().isEmpty)
        observer.close()
        #expect(throws: ControlError.self) { try observer.add { $0.add { (_: PlayerEvent) in } } }
    }

    @Test func handlersAreCalledOnTheControlsThread() throws {
        let board = PlayerStatePublisher(timebase: RenderSynchronizer(clock: ManualClock()).timebase)
        let control = PlayerControl(PlayerMailbox(), board)
        let values = Lock<[Bool]>([])
        let arrived = Signal()
        _ = try control.observe("mute") { value in
            values.withLock { $0.append(value?.flag ?? false) }
            arrived.raise()
        }
        arrived.wait()
        var state = PlayerState()
        state.isMuted = true
        board.post(state)
        arrived.wait()
        #expect(values.withLock { $0 } == [false, true])
        control.close()
        #expect(throws: ControlError.self) { try control.observe("mute") { _ in } }
        #expect(throws: ControlError.self) { try control.observe("nothing") { _ in } }
    }

    @Test func theImageOfTheItemIsObserved() throws {
        let board = PlayerStatePublisher(timebase: RenderSynchronizer(clock: ManualClock()).timebase)
        let control = PlayerControl(PlayerMailbox(), board)
        let images = Lock<[[UInt8]?]>([])
        let arrived = Signal()
        _ = try control.observeArtwork { image in
            images.withLock { $0.append(image) }
            arrived.raise()
        }
        arrived.wait()
        let (bytes, sameSize): ([UInt8], [UInt8]) = ([0xFF, 0xD8, 0xFF, 1], [0xFF, 0xD8, 0xFF, 2])
        var state = PlayerState()
        for image in [bytes, sameSize, nil] {
            state.artwork = image.flatMap { NowPlaying.Artwork($0) }
            board.post(state)
            arrived.wait()
        }
        #expect(images.withLock { $0 } == [nil, bytes, sameSize, nil])
        control.close()
    }
}
