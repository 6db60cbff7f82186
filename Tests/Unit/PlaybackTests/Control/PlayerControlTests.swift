import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// The commands and properties of a player in virtual time.
@Suite struct PlayerControlTests {
    private let queue: VirtualQueue
    private let control: PlayerControl
    private let items: [QueueItem]

    init() {
        queue = VirtualQueue()
        control = PlayerControl(queue.mailbox, queue.board)
        items = ["1+2/160000", "2/160000", "3/160000", "4/160000"].map { QueueItem($0) }
        queue.core.apply(.append(items))
        queue.core.play()
        queue.run(for: .seconds(1))
    }

    /// Executes a command line. Returns the code of its error; nil if it succeeded.
    private func perform(_ line: String) -> String? {
        let result = Lock<Result<JSONValue, ControlError>?>(nil)
        control.perform(line.split(separator: " ").map { .text(String($0)) }) { answer in
            result.withLock { $0 = answer }
        }
        queue.runUntilIdle()
        switch result.withLock({ $0 }) {
        case .failure(let error): return error.code.rawValue
        case .success: return nil
        case nil: return "no answer"
        }
    }

    private func value(_ name: String) -> String {
        do throws(ControlError) { return try control.value(of: name).mpvText } catch { return error.code.rawValue }
    }

    // MARK: Properties

    @Test func aPropertyHasItsNewValueWhenTheCommandReplies() {
        for (name, text) in [
            ("speed", "2"), ("mute", "yes"), ("audio-delay", "-0.1"), ("night-mode", "yes"), ("dialog-level", "6"),
            ("sub-delay", "0.25"), ("loop-file", "inf"), ("loop-file", "3"), ("loop-file", "no"),
            ("loop-playlist", "inf"), ("shuffle", "yes"), ("shuffle", "no"), ("deinterlace", "yes"), ("pause", "yes"),
        ] {
            #expect(perform("set \(name) \(text)") == nil, "\(name)")
            #expect(value(name) == text)
        }
        #expect(perform("set audio-delay 601") == "out-of-range")
        #expect(perform("set deinterlace maybe") == "wrong-type")
    }

    @Test func steadyPlaybackNotifiesNoObserver() {
        let changes = queue.board.changes
        changes.setObserved(true)
        queue.run(for: .seconds(5))
        changes.signal.clear()
        queue.run(for: .seconds(8))
        var count = 0
        while changes.signal.tryWait() { count += 1 }
        // The preparation of the next film may be published; what changes continuously is not.
        #expect(count <= 4 && queue.phase == .playing, "\(count) changes")
    }

    @Test func stepsOfTwoControllersAddUp() {
        control.perform([.text("add"), .text("audio-delay"), .text("0.1")])
        control.perform([.text("add"), .text("audio-delay"), .text("0.1")])
        control.perform([.text("cycle"), .text("pause")])
        control.perform([.text("cycle"), .text("pause")])
        queue.run(for: .seconds(1))
        #expect(value("audio-delay") == "0.2" && value("pause") == "no" && queue.phase == .playing)
    }

    @Test func stepsUpAndDownLeadBackAndNothingLeavesItsRange() {
        for _ in 0..<5 { #expect(perform("multiply speed 1.1") == nil) }
        for _ in 0..<5 { #expect(perform("multiply speed 1/1.1") == nil) }
        #expect(value("speed") == "1")
        for _ in 0..<10 { #expect(perform("multiply speed 2") == nil) }
        #expect(value("speed") == "4")
        #expect(perform("add sub-delay 1000") == nil)
        #expect(value("sub-delay") == "600")
        #expect(perform("multiply pause 2") == "wrong-type")
    }

    @Test func cyclesGoRound() {
        #expect(
            ["deinterlace", "deinterlace", "deinterlace"].map { perform("cycle \($0)") ?? value($0) } == [
                "yes", "no", "auto",
            ])
        #expect(perform("cycle deinterlace down") ?? value("deinterlace") == "no")
        #expect(
            (0..<5).map { _ in perform("cycle dialog-level") ?? value("dialog-level") } == ["3", "6", "9", "0", "3"])
        #expect((0..<2).map { _ in perform("cycle loop-file") ?? value("loop-file") } == ["inf", "no"])
        #expect((0..<3).map { _ in perform("cycle-values speed 0.5 1 2") ?? value("speed") } == ["2", "0.5", "1"])
        #expect(perform("cycle media-title") == "not-writable")
    }

    @Test func theSoundTrackIsSelectedByNumber() {
        #expect(value("aid") == "1" && value("track-list/count") == "2" && value("track-list/1/selected") == "no")
        #expect(perform("set aid 2") ?? value("aid") == "2")
        #expect(value("track-list/1/selected") == "yes" && value("track-list/1/lang") == "rus")
        #expect(perform("set aid 3") == "unavailable")
        #expect(perform("cycle audio") ?? value("aid") == "1")
        #expect(perform("set sid 1") == "unavailable")
        #expect(value("sid") == "no" && value("vid") == "no" && value("width") == "unavailable")
    }

    // MARK: Position

    @Test func seeksAreRelativeAbsoluteOrPercentages() {
        #expect(perform("set pause yes") == nil)
        queue.run(for: .seconds(1))
        for (line, seconds) in [
            ("seek 10 absolute", "10"), ("seek 2 exact", "12"), ("seek -4 relative+exact", "8"),
            ("seek 50 absolute-percent+exact", "10"), ("seek -5 absolute", "15"), ("seek 0:04.5 absolute", "4.5"),
            ("seek 10 relative-percent exact", "6.5"), ("set time-pos 3", "3"), ("set percent-pos 25", "5"),
            ("add time-pos -1", "4"),
        ] {
            #expect(perform(line) == nil, "\(line)")
            queue.run(for: .seconds(1))
            #expect(value("time-pos") == seconds, "\(line)")
        }
        #expect(value("duration") == "20" && value("percent-pos") == "20" && value("time-remaining") == "16")
        #expect(perform("seek 5 sideways") == "wrong-type")
        #expect(perform("seek 1000000000") == "out-of-range")
        #expect(perform("seek -300000000 relative-percent") == nil, "clamped")
        #expect(perform("add chapter 1") == nil, "reported as a message")
        #expect(perform("set chapter 1") == "unavailable")
        #expect(value("chapter") == "unavailable" && value("chapters") == "0")
    }

    // MARK: Playlist

    @Test func thePlaylistHasIndices() {
        #expect(
            value("playlist-count") == "4" && value("playlist-pos") == "0" && value("playlist/2/filename") == "3/160000"
        )
        #expect(perform("playlist-next") == nil)
        #expect(value("playlist-pos") == "1" && value("playlist-count") == "4")
        #expect(perform("set playlist-pos 3") ?? value("filename") == "160000")
        #expect(value("path") == "4/160000" && value("playlist-pos") == "3")
        #expect(perform("playlist-next force") == "unavailable")
        #expect(perform("playlist-play-index 0") ?? value("playlist-pos") == "0")
        #expect(perform("playlist-prev") == "unavailable")
        #expect(perform("playlist-play-index 4") == "out-of-range")
        #expect(perform("set playlist-pos 4") == "out-of-range")
        queue.run(for: .seconds(1))
        #expect(value("time-pos").hasPrefix("0.") || value("time-pos").hasPrefix("1"))
    }

    @Test func thePlaylistIsEdited() {
        #expect(perform("playlist-move 3 1") == nil)
        #expect(queue.state.items == [items[0], items[3], items[1], items[2]])
        #expect(perform("playlist-move 1 4") == nil)
        #expect(queue.state.items == items.indices.map { items[$0] })
        #expect(perform("playlist-move 2 0") == "unavailable" && perform("playlist-move 0 2") == "unavailable")
        #expect(perform("playlist-move 9 1") == "out-of-range")
        #expect(perform("playlist-remove 2") == nil)
        #expect(queue.state.items == [items[0], items[1], items[3]])
        #expect(perform("loadfile 5/80000 insert-next") == nil)
        #expect(queue.state.items.map(\.address) == ["1+2/160000", "5/80000", "2/160000", "4/160000"])
        #expect(perform("playlist-next") == nil)
        queue.run(for: .seconds(1))
        #expect(perform("playlist-remove 0") == "unavailable", "it has played")
        #expect(perform("playlist-clear") ?? value("playlist-count") == "1")
        #expect(value("playlist-pos") == "0" && value("path") == "5/80000")
        #expect(perform("loadfile 6/80000 append") ?? value("playlist-count") == "2")
        #expect(perform("playlist-remove current") == nil)
        queue.run(for: .seconds(1))
        #expect(value("path") == "6/80000")
    }

    @Test func aFilmMovesBehindTheCurrentOneOnly() {
        let codes = Lock<[String?]>([])
        // Executed while the first film is being opened.
        for line in [
            "stop", "loadfile 5/80000 append", "loadfile 6/80000 append", "loadfile 7/80000 append",
            "playlist-move 1 0", "playlist-move 0 1", "playlist-move 1 2", "playlist-move 1 3",
        ] {
            control.perform(line.split(separator: " ").map { .text(String($0)) }) { answer in
                let code: String? = if case .failure(let error) = answer { error.code.rawValue } else { nil }
                codes.withLock { $0.append(code) }
            }
        }
        queue.runUntilIdle()
        #expect(codes.withLock { $0 } == [nil, nil, nil, nil, "unavailable", nil, nil, nil])
        #expect(queue.state.items.map(\.address) == ["5/80000", "7/80000", "6/80000"])
    }

    @Test func aFilmIsLoadedAndPlaybackIsStopped() throws {
        let id = Lock<JSONValue?>(nil)
        control.perform([.text("loadfile"), .text("5/80000")]) { result in
            id.withLock { $0 = try? result.get() }
        }
        queue.run(for: .seconds(1))
        #expect(value("path") == "5/80000" && value("playlist-count") == "1" && value("idle-active") == "no")
        let entry = Int(truncatingIfNeeded: try #require(queue.state.current).id.number)
        #expect(id.withLock { $0 } == .object([("playlist_entry_id", .integer(entry))]))
        #expect(perform("stop") == nil)
        #expect(value("idle-active") == "yes" && value("eof-reached") == "yes" && value("playlist-count") == "0")
        #expect(value("playlist-pos") == "-1" && value("time-pos") == "unavailable")
        #expect(perform("seek 1") == "unavailable")
        #expect(perform("loadfile 6/80000 append-play") == nil)
        queue.run(for: .seconds(1))
        #expect(value("path") == "6/80000" && value("core-idle") == "no")
        #expect(value("metadata") == #"{"title":"80000"}"# && value("metadata/by-key/title") == "80000")
        #expect(value("metadata/by-key/artist") == "unavailable")
        // Not searched once for each: a name can have thousands.
        #expect(value("metadata/by-key/by-key/title") == "unavailable")
    }

    @Test func afterTheEndCommandsAreRefused() {
        queue.core.shutDown()
        let codes = Lock<[String]>([])
        control.perform([.text("cycle"), .text("pause")]) { result in
            if case .failure(let error) = result { codes.withLock { $0.append(error.code.rawValue) } }
        }
        #expect(codes.withLock { $0 } == ["unavailable"])
    }

    /// Returns a player without films, whose engine the test runs.
    private func playerAndEngine() throws -> (player: Player, engine: PlaybackEngine) {
        var engine: PlaybackEngine?
        let parts = Player.Components(
            open: { (_, _) throws(MediaError) in throw MediaError(.cannotOpen, "nothing") },
            codecs: SyntheticCodecs(),
            makeDecoder: { (_) throws(MediaError) in throw MediaError(.unsupported, "nothing") },
            audioOutput: RecordingOutput(capacity: 1), clock: ManualClock())
        let player = Player(components: parts, options: PlayerOptions(), events: EventLog(clock: ManualClock())) { _ in
        } start: { make throws(ExhaustionError) in
            engine = make(Player.EngineWork())
            return nil
        }
        return (player, try #require(engine))
    }

    @Test func aPlayerWithoutReferencesStops() throws {
        var made = try Optional(playerAndEngine())
        let engine = try #require(made).engine
        #expect(engine.runIteration())
        made = nil
        #expect(!engine.runIteration())
    }

    // MARK: Volume

    @Test func theVolumeIsThatOfTheOutputs() throws {
        let (player, engine) = try playerAndEngine()
        let control = PlayerControl(player)
        control.set("volume", to: .integer(50))
        control.perform([.text("add"), .text("volume"), .text("-2")])
        _ = engine.runIteration()
        #expect(abs(player.masterVolume - 48) < 1e-3)
        for gain in [0, 0.05, 0.5, 1, 2] as [Float] {
            player.volume = gain
            #expect(abs(player.volume - gain) < 1e-4)
        }
        (player.isMuted, player.rate) = (true, 1.5)
        _ = engine.runIteration()
        #expect(player.isMuted && player.rate == 1.5 && !player.state.isPaused)
        player.rate = 0
        _ = engine.runIteration()
        #expect(player.rate == 0 && player.state.isPaused && player.state.speed == 1.5)
        player.volume = VolumeCurve.gain(volume: 48)
        _ = engine.runIteration()
        #expect(try control.value(of: "volume").number.map { abs($0 - 48) < 1e-3 } == true)
    }
}
