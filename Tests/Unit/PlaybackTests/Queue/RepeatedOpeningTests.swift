import MediaCodecs
import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// An item that is opened again while it opens: the caller's thread cancels the first attempt.
@Suite struct RepeatedOpeningTests {
    private let player: Player
    private let core: PlaybackEngine
    private let tasks = Lock<[@Sendable () -> Void]>([])
    private let failures = Lock(0)
    private let item = QueueItem("1/8000")

    init() throws {
        let clock = ManualClock()
        let (tasks, failures) = (tasks, failures)
        let parts = Player.Components(
            open: { (address, _) throws(MediaError) in try NumberedSound(address, rate: 8000) },
            codecs: FilmAudioCodecs(),
            makeDecoder: { (_) throws(MediaError) in throw MediaError(.unsupported, "nothing") },
            audioOutput: RecordingOutput(capacity: 1), clock: clock)
        var engine: PlaybackEngine?
        player = Player(components: parts, options: PlayerOptions(), events: EventLog(clock: clock)) { event in
            if case .failed = event { failures.withLock { $0 += 1 } }
        } start: { make throws(ExhaustionError) in
            engine = make(
                Player.EngineWork(
                    startPipeline: { _, _ in },
                    runBackgroundWork: { _, body in
                        tasks.withLock { $0.append(body) }
                        return nil
                    }))
            return nil
        }
        core = try #require(engine)
        player.open([item])
        _ = core.runIteration()
    }

    /// Ends the attempts to open the item, then runs the player's thread.
    private func endAttempts() {
        let ended = tasks.withLock { tasks in
            defer { tasks = [] }
            return tasks
        }
        for task in ended { task() }
        _ = core.runIteration()
    }

    @Test(arguments: 0..<4) func theItemIsOpenedAgain(way: Int) {
        switch way {
        case 0: player.open(item.address)
        case 1: player.open([item])
        case 2: player.reopen()
        default: player.startOver()
        }
        endAttempts()
        #expect(core.state.phase == .opening)
        endAttempts()
        #expect(core.current?.item.address == item.address)
        #expect(failures.withLock { $0 } == 0)
    }

    @Test func anAttemptThatEndsBeforeTheCommandArrivesIsNoFailure() {
        player.mailbox.cancelOpening()
        endAttempts()
        #expect(core.state.phase == .opening)
        #expect(failures.withLock { $0 } == 0)
    }
}
