import AirPlay
import Glibc
import MediaCore
import ScreenOutput
import SyncRendering
import TalkieTestKit
import Testing

@testable import Playback
@testable import Routing
@testable import Storage
@testable import TalkieApp
@testable import Telemetry

@Suite struct SessionDirectorTests {
    private typealias Rig = SessionRig

    @Test(.timeLimit(.minutes(10))) func theRecordOfAListNamesEachFilmAndWhereItBegins() throws {
        let folder = TemporaryFolder()
        let rig = Rig("a", "b", "c", timeline: folder.path("record"))
        #expect(rig.run() == 0)
        let films = folder.read("record").split(separator: "\n").filter { $0.contains(#""event":"film""#) }
        let names = films.compactMap { line in ["a", "b", "c"].first { line.contains(#""name":"\#($0)""#) } }
        #expect(names == ["a", "b", "c"])
        // An item that joins the one before states its position on the timeline and the origin of the item's time
        // there.
        let joined = films.filter { $0.contains(#""film":"#) }
        #expect(joined.allSatisfy { $0.contains(#""origin":"#) })
        #expect(!films[0].contains(#""film":"#))
    }

    /// The films and phases of a record, in its order.
    private func record(_ folder: TemporaryFolder) -> [String] {
        folder.read("record").split(separator: "\n").compactMap { line in
            if line.contains(#""event":"film""#) {
                return ["bad 1", "bad 2", "a", "b"].first { line.contains(#""name":"\#($0)""#) }
            }
            guard line.contains(#""event":"state""#) else { return nil }
            return ["opening", "buffering", "playing", "failed", "ended"].first {
                line.contains(#""phase":"\#($0)""#)
            }
        }
    }

    @Test(.timeLimit(.minutes(10))) func theRecordNamesTheFilmsThatAreSkippedWithTheirFailure() {
        let folder = TemporaryFolder()
        let rig = Rig("bad 1", "bad 2", "a", timeline: folder.path("record"))
        #expect(rig.run() == 66)
        let record = record(folder)
        #expect(
            record.prefix(8) == ["bad 1", "opening", "failed", "opening", "bad 2", "failed", "opening", "a"],
            "\(record)")
        #expect(record.last == "ended" && record.count { $0 == "a" } == 1, "\(record)")
    }

    @Test(.timeLimit(.minutes(10))) func theListPlaysToItsEnd() {
        let rig = Rig("a", "b")
        #expect(rig.run() == 0)
        #expect(rig.played == ["a", "b"])
        #expect(rig.person.output() == "")
    }

    @Test(.timeLimit(.minutes(10))) func whereNoWindowNamesItATerminalDoes() {
        let rig = Rig("Sonata", "Rondo", showsStatus: true)
        #expect(rig.run() == 0)
        let output = rig.person.output()
        #expect(
            output.contains("talkie: playing 'Sonata' (1 of 2).")
                && output.contains("talkie: playing 'Rondo' (2 of 2)."))
        var quiet = PlayArguments(files: [])
        quiet.isReallyQuiet = true
        let silent = Rig("Sonata", arguments: quiet, showsStatus: true)
        #expect(silent.run() == 0)
        #expect(silent.person.output() == "")
    }

    @Test(.timeLimit(.minutes(10))) func aFilmThatCannotBeOpenedIsReportedAndSkipped() {
        let rig = Rig("bad", "a")
        #expect(rig.run() == 66)
        #expect(rig.played == ["bad", "a"])
        #expect(rig.person.output() == "talkie: 'bad' is no film.\n")
    }

    @Test(.timeLimit(.minutes(10))) func aFilmThatFailedAheadIsReportedOnceAndSkipped() {
        let rig = Rig("a", "bad", "b")
        #expect(rig.run() == 66)
        #expect(rig.played == ["a", "bad", "b"])
        #expect(rig.person.output() == "talkie: 'bad' is no film.\n")
        let last = Rig("a", "bad")
        #expect(last.run() == 66)
        #expect(last.played == ["a", "bad"])
    }

    @Test(.timeLimit(.minutes(10))) func manyFailuresOfAListAreSummarized() {
        let rig = Rig(more: (1...40).map { "bad \($0)" } + ["a", "b"])
        #expect(rig.run() == 66)
        #expect(rig.played.suffix(2) == ["a", "b"])
        let lines = rig.person.output().split(separator: "\n")
        #expect(lines.count == 11 && lines.last == "talkie: 30 more cannot be played.")
        let all = Rig(more: (1...40).map { "bad \($0)" })
        #expect(all.run() == 66)
        #expect(all.person.output().split(separator: "\n").count == 10)
    }

    @Test(.timeLimit(.minutes(10))) func aListRepeatsAsRequestedWithFailuresReportedEachTime() {
        var arguments = PlayArguments(files: [])
        arguments.loopPlaylist = .times(1)
        let rig = Rig("a", "bad", arguments: arguments)
        #expect(rig.run() == 66)
        #expect(rig.played == ["a", "bad", "a", "bad"])
        #expect(rig.person.output() == "talkie: 'bad' is no film.\ntalkie: 'bad' is no film.\n")
    }

    @Test(.timeLimit(.minutes(10))) func aListOfFailuresEndsEvenWhenItShouldLoopForEver() {
        var arguments = PlayArguments(files: [])
        arguments.loopPlaylist = .forever
        let rig = Rig("bad 1", "bad 2", arguments: arguments)
        #expect(rig.run() == 66)
        #expect(rig.played == ["bad 1", "bad 2"])
    }

    @Test(.timeLimit(.minutes(10))) func aLoopingListWaitsForMissingFilmsAndReportsThatOnce() throws {
        var arguments = PlayArguments(files: [])
        arguments.loopPlaylist = .forever
        let rig = Rig("stick 1", "stick 2", arguments: arguments)
        /// Waits until a number of films were opened.
        func wait(for count: Int) {
            while rig.played.count < count { rig.wakeSignal.wait() }
        }
        try! rig.director.start()
        wait(for: 3)
        let since = HostInstant.now
        rig.isStickPulled.withLock { $0 = true }
        // At most seven attempts belong to items laid out before the first pause.
        let before = rig.played.count + 7
        wait(for: before + 8)
        #expect(HostInstant.now - since >= .milliseconds(1000), "four passes have pauses before them")
        rig.isStickPulled.withLock { $0 = false }
        let back = HostInstant.now
        while rig.player.state.phase != .playing { rig.wakeSignal.wait() }
        #expect(HostInstant.now - back < .seconds(30), "0.7 s on a machine that has time")
        #expect(rig.end(.terminalKey("q")) == 0)
        let output = rig.person.output().split(separator: "\n")
        for name in ["stick 1", "stick 2"] {
            #expect((1...2).contains(output.count { $0.contains("there is no '\(name)'") }), "\(output)")
        }
        #expect(output.count { $0.contains("as soon as one is available again") } == 1)
    }

    @Test(.timeLimit(.minutes(10))) func aKeyQuitsAndASignalQuitsWithItsStatus() {
        #expect(Rig("long").run(.terminalKey("q")) == 0)
        #expect(Rig("long").run(.screen(.close)) == 0)
        #expect(Rig("long").run(.request(.end(status: 130)), .terminalKey("q")) == 130)
    }

    @Test(.timeLimit(.minutes(10))) func keysMoveThroughTheList() {
        let rig = Rig("long 1", "long 2", "c")
        #expect(
            rig.run(.terminalKey(">"), .screen(.key("<", isRepeat: false)), .terminalKey("ENTER"), .terminalKey(">"))
                == 0)
        // Films that were skipped before they were open may never have been requested.
        #expect(rig.played.last == "c")
    }

    @Test(.timeLimit(.minutes(10))) func quickKeysAddUp() {
        let rig = Rig("long")
        #expect(
            rig.run(
                .terminalKey("9"), .terminalKey("9"), .terminalKey("9"), .terminalKey("m"), .terminalKey("Ctrl++"),
                .terminalKey("Ctrl++"), .terminalKey("]"), .terminalKey("q")) == 0)
        let state = rig.player.state
        #expect(state.volume == 94)
        #expect(state.isMuted)
        #expect(state.audioDelay == .milliseconds(200))
        #expect(abs(state.speed - 1.1) < 1e-9)
    }

    @Test(.timeLimit(.minutes(10))) func aSpeakerKeepsItsOwnVolumeUntilAKeyIsPressedAndNeverShouts() throws {
        // Volume changes before the output is open are not sent to it.
        func play(_ rig: Rig, then keys: String...) throws -> Int32 {
            try rig.director.start()
            while rig.player.state.phase != .playing { rig.wakeSignal.wait() }
            for key in keys { rig.mailbox.post(.terminalKey(key)) }
            return rig.end()
        }
        let untouched = Rig("short")
        #expect(untouched.run() == 0)
        #expect(untouched.output.state.withLock { $0.gains }.isEmpty)

        let muted = Rig("long")
        #expect(try play(muted, then: "m", "m", "q") == 0)
        #expect(muted.output.state.withLock { $0.gains } == [0, nil], "unmuted is as loud as its owner left it")

        let turned = Rig("long")
        turned.output.state.withLock { $0.ownVolume = 40 }
        #expect(try play(turned, then: "9", "9", "q") == 0)
        #expect(turned.player.state.volume == 36)
        let gains = turned.output.state.withLock { $0.gains }
        #expect(!gains.isEmpty && gains.allSatisfy { ($0 ?? 1) < 0.12 }, "38 is -18.6 dB")

        var arguments = PlayArguments(files: [])
        arguments.options.volume = 100
        let loud = Rig("short", arguments: arguments)
        #expect(loud.run() == 0)
        #expect(loud.output.state.withLock { $0.gains }.contains(1), "100 was asked for")
    }

    @Test(.timeLimit(.minutes(10))) func aSilentOutputAndItsReturnAreReported() throws {
        let rig = Rig("long")
        try rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.lose(Self.loss)
        rig.lose(nil)
        #expect(rig.end(.terminalKey("q")) == 0)
        #expect(rig.director.outputs.lost.isEmpty)
        let output = rig.person.output()
        #expect(output.contains("'recording' is silent."), "\(output)")
        #expect(!output.contains(". ."))
        #expect(output.contains("'recording' is available again."))
    }

    /// A television that is switched off takes its sound card with it.
    // feature: screen
    @Test(.timeLimit(.minutes(10))) func aFilmContinuesWhileItsDisplayIsAwayAlsoWithoutSound() throws {
        let rig = Rig("long")
        try rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.mailbox.post(
            .screen(.away(OutputError(.unavailable, "no display can be reached; connect one"))))
        rig.lose(Self.loss)
        #expect(rig.end(.screen(.back), .terminalKey("q")) == 0)
        let output = rig.person.output()
        #expect(output.contains("connect one. The film continues; its picture returns with a display."), "\(output)")
        #expect(output.contains("The picture has returned."), "\(output)")
    }

    @Test(.timeLimit(.minutes(10))) func implausibleTimesAreReported() {
        let rig = Rig("long")
        #expect(rig.run(.clock(OutputID(0), .doubted), .terminalKey("q")) == 0)
        #expect(rig.person.output().contains("PTP times sent in the name of 'recording' do not match its clock"))
    }

    private static let loss = OutputError(.lost, "It was disconnected.")

    private static func heard(_ device: String) -> PlaybackRouteChange.Output {
        PlaybackRouteChange.Output(id: OutputID(0), name: "recording", kind: .virtual, device: device)
    }

    @Test(.timeLimit(.minutes(10))) func aFilmWhoseOnlyOutputIsLostPausesWhenThatIsWanted() throws {
        var arguments = PlayArguments(files: [])
        arguments.lostRoute = .pause
        let rig = Rig("long", arguments: arguments)
        try rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.fail(Self.loss)
        rig.wait { $0.phase == .paused }
        #expect(rig.player.state.isPaused && rig.player.state.interruption == nil)
        #expect(rig.end(.terminalKey("q")) == 0)
        #expect(rig.director.outputs.lost == [OutputID(0)])
        #expect(rig.person.output().contains("'recording' is silent"))
    }

    @Test(.timeLimit(.minutes(10))) func aFilmWhoseOnlyOutputIsLostContinuesOnThisComputerIfRequested() async {
        for (policy, wanted) in [
            (PlaybackSession.LostRoutePolicy.local, ["card"]), (nil, ["recording"]), (.wait, ["recording"]),
        ] {
            var arguments = PlayArguments(files: [])
            arguments.lostRoute = policy
            let rig = Rig("long", arguments: arguments)
            try! rig.director.start()
            rig.wait { $0.phase == .playing && $0.session.lostRoutePolicy == (policy ?? .wait) }
            rig.lose(Self.loss)
            if policy == .local {
                for await _ in rig.player.states where rig.player.audioOutputs.map(\.name) == ["card"] { break }
            }
            // Keys are processed after the loss.
            #expect(rig.end(.terminalKey("q")) == 0)
            #expect(rig.player.audioOutputs.map(\.name) == wanted)
            #expect(rig.toys.wanted.withLock { $0 } == (policy == .local ? ["card"] : []))
            #expect(rig.person.output().contains("'recording' is silent."))
        }
    }

    @Test(.timeLimit(.minutes(10))) func aReplacedCardIsReportedOnceAndNotAsLost() {
        var arguments = PlayArguments(files: [])
        arguments.lostRoute = .pause
        let rig = Rig("long", arguments: arguments)
        let moved = PlaybackRouteChange(
            reason: .moved, previous: [Self.heard("Speakers")], current: [Self.heard("Headphones")])
        #expect(rig.run(.player(.routeChanged(moved)), .terminalKey("q")) == 0)
        #expect(rig.person.output() == "talkie: The sound continues on 'recording'.\n")
        #expect(rig.director.outputs.lost.isEmpty)
    }

    /// The product's path: the speaker's failure, the player's events, the message, and the choice of another output.
    @Test(.timeLimit(.minutes(10))) func aFilmWhoseSpeakerIsTakenOverPausesAndResumesOnTheChosenOutput() throws {
        let rig = Rig("long")
        try rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.fail(Self.takeover)
        rig.wait { $0.phase == .paused }
        #expect(rig.player.state.interruption == .takenOver)
        rig.mailbox.post(.rooms(["toy:card"]))
        rig.wait { $0.phase == .playing }
        #expect(rig.player.state.interruption == nil)
        #expect(rig.player.audioOutputs.map(\.name) == ["card"])
        #expect(rig.end(.terminalKey("q")) == 0)
        let output = rig.person.output()
        #expect(output.contains("'recording' is silent"), "\(output)")
        #expect(output.contains("Paused. Play to take the output back, or choose another one."), "\(output)")
    }

    private static let takeover = OutputError(.busy, "Another sender is now playing on recording.")

    @Test(.timeLimit(.minutes(10))) func aSpeakerThatRefusesAgainAfterPlayIsReportedAgain() throws {
        let rig = Rig("long")
        try rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.fail(Self.takeover)
        rig.wait { $0.phase == .paused }
        rig.mailbox.post(.terminalKey("p"))
        rig.wait { _ in rig.routeChanges.withLock { $0.count } == 2 }
        rig.wait { $0.phase == .paused && $0.interruption == .takenOver }
        #expect(rig.player.state.phase == .paused && rig.player.state.interruption == .takenOver)
        #expect(rig.end(.terminalKey("q")) == 0)
        let output = rig.person.output()
        #expect(output.ranges(of: "Another sender is now playing on recording.").count == 2, "\(output)")
        #expect(output.ranges(of: "Paused. Play to take the output back").count == 2, "\(output)")
    }

    @Test(.timeLimit(.minutes(10))) func aSpeakerThatIsTakenOverBetweenTwoFilmsIsReported() throws {
        let rig = Rig("long", "long 2")
        try rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.output.state.withLock { ($0.failure, $0.refusal) = (Self.takeover, Self.takeover) }
        rig.mailbox.post(.terminalKey(">"))
        rig.wait { $0.title == "long 2" && $0.phase == .paused && $0.interruption == .takenOver }
        #expect(rig.player.state.title == "long 2" && rig.player.state.interruption == .takenOver)
        #expect(rig.end(.terminalKey("q")) == 0)
        let output = rig.person.output()
        #expect(output.contains("'recording' is silent. Another sender is now playing on recording."), "\(output)")
        #expect(output.contains("Paused. Play to take the output back"), "\(output)")
    }

    /// The bar has its button without the user having opened the list or moved the pointer.
    @Test(.timeLimit(.minutes(10))) func theSearchForOutputsBeginsWithTheProgram() async {
        let rig = Rig("long", presentRooms: [])
        try! rig.director.start()
        rig.toys.appear("Kitchen")
        func isOffered() -> Bool { (try? rig.director.outputs.rooms.ids("toy:Kitchen")) != nil }
        // The offers are read by a task, which needs a thread of the pool that neither blocks nor spins.
        let deadline = HostInstant.now.advanced(by: .seconds(50))
        while !isOffered(), HostInstant.now < deadline {
            // ignored: a cancelled test ends at the deadline.
            try? await Task.sleep(for: .milliseconds(5))
        }
        #expect(isOffered())
        #expect(rig.end(.terminalKey("q")) == 0)
    }

    @Test(.timeLimit(.minutes(10))) func aProgramFollowsThePlayerAsASequenceToItsEnd() async {
        let rig = Rig("short")
        let states = rig.player.states
        let phases = Task {
            var phases: [PlayerState.Phase] = []
            for await state in states where phases.last != state.phase { phases.append(state.phase) }
            return phases
        }
        #expect(rig.run() == 0)
        let seen = await phases.value
        #expect(seen.contains(.playing) || seen.contains(.ended), "\(seen)")
        #expect(rig.player.audioOutputs.map(\.name) == ["recording"])
    }

    @Test(.timeLimit(.minutes(10))) func whereTheSoundWentIsKeptUnlessThatIsNotWanted() {
        let kept = Rig("long")
        #expect(kept.run(.terminalKey("q")) == 0)
        let ended = Rig("short", routes: [ToyProvider([:]).destination("card")])
        #expect(ended.run() == 0)
        #expect(RouteHistory(StateFolder(path: ended.folder.path)).read().entries.map(\.routes) == [["toy:card"]])
        var arguments = PlayArguments(files: [])
        arguments.routeMemory = .never
        let unkept = Rig("long", arguments: arguments)
        #expect(unkept.run(.terminalKey("q")) == 0)
        #expect(RouteHistory(StateFolder(path: unkept.folder.path)).read().entries.isEmpty)
    }

    @Test(.timeLimit(.minutes(10))) func anUnreadableHistoryIsReportedOnce() throws {
        let card = ToyProvider([:]).destination("card")
        for speakers in [[], [SpeakerArgument(.named("toy:card"))]] {
            var arguments = PlayArguments(files: [])
            arguments.speakers = speakers
            for (bytes, words) in [("?", "route-habits.damaged"), ("talkie route-habits 2\n", "newer Talkie")] {
                let rig = Rig("short", arguments: arguments, routes: [card])
                try StateFolder(path: rig.folder.path).write("route-habits", Array(bytes.utf8))
                #expect(rig.run() == 0)
                let output = rig.person.output()
                #expect(output.ranges(of: words).count == 1, "\(output)")
            }
        }
    }

    @Test func aFileFoundUnreadableDuringPlaybackIsReportedOnce() throws {
        let rig = Rig("long")
        defer { rig.player.shutDown() }
        rig.toys.unread.withLock { $0 = ["a note of the start"] }
        let desk = RouteController(
            player: rig.player, registry: OutputRegistry([rig.toys]),
            routes: [], home: rig.toys.destination("card"), post: { _ in })
        #expect(desk.handle(.offered(OutputOffer())) == nil)
        rig.toys.unread.withLock { $0 += ["a file", "another file"] }
        #expect(desk.handle(.offered(OutputOffer())) == "a file\nanother file")
        #expect(desk.handle(.offered(OutputOffer())) == nil)
    }

    @Test(.timeLimit(.minutes(10))) func aPlaceThatIsChosenBeforeItIsFoundIsUsedOnceItIs() throws {
        let rig = Rig("long")
        defer { rig.player.shutDown() }
        let (chosen, arrival) = (Lock<[String]>([]), Signal())
        let controller = RouteController(
            player: rig.player, registry: OutputRegistry([rig.toys]), routes: [], home: rig.toys.destination("card"),
            post: { event in
                guard case .failed(_, let ids) = event else { return }
                chosen.withLock { $0 = ids }
                arrival.raise()
            })
        defer { controller.close() }
        controller.choose(["toy:cellar"])
        _ = controller.handle(.offered(OutputOffer()))
        #expect(rig.toys.wanted.withLock { !$0.contains("cellar") })
        _ = controller.handle(.offered(OutputOffer(destinations: [rig.toys.destination("cellar")])))
        arrival.wait()
        #expect(chosen.withLock { $0 } == ["toy:cellar"])
    }

    /// Outputs are created on another thread, because that reads files.
    @Test(.timeLimit(.minutes(10))) func aPlaceWhoseVolumeCannotBeSetSaysWhyLater() throws {
        let rig = Rig("long")
        defer { rig.player.shutDown() }
        let (event, arrival) = (Lock<RouteController.Event?>(nil), Signal())
        let desk = RouteController(
            player: rig.player, registry: OutputRegistry([rig.toys]),
            routes: [], home: rig.toys.destination("card"),
            post: { item in
                guard case .volumeSet = item else { return }
                event.withLock { $0 = item }
                arrival.raise()
            })
        defer { desk.close() }
        _ = desk.handle(.offered(OutputOffer(destinations: [rig.toys.destination("cellar")])))
        desk.openPicker()
        let row = try #require(desk.picker?.rows.firstIndex { $0.name == "cellar" })
        desk.point(at: row, .level(0.5), turned: 0)
        #expect(desk.picker?.notice == nil)
        arrival.wait()
        #expect(desk.handle(try #require(event.withLock { $0 })) == nil)
        #expect(desk.picker?.notice == "no toy is there")
    }

    @Test(.timeLimit(.minutes(10))) func theListOfPlacesTakesTheKeysItKnowsAndLeavesTheOthers() {
        let rig = Rig("long")
        #expect(
            rig.run(
                .terminalKey("s"), .terminalKey("LEFT"), .terminalKey("m"), .terminalKey("ESC"), .terminalKey("9"),
                .terminalKey("q")) == 0)
        #expect(rig.player.state.isMuted, "m means nothing to the list")
        #expect(rig.player.state.volume == 98)
    }

    @Test(.timeLimit(.minutes(10))) func aKeyHeldDownDoesNotSwitchToAndFro() {
        let rig = Rig("long")
        #expect(
            rig.run(
                .screen(.key("m", isRepeat: false)), .screen(.key("m", isRepeat: true)),
                .screen(.key("9", isRepeat: false)), .screen(.key("9", isRepeat: true)), .terminalKey("q")) == 0)
        #expect(rig.player.state.isMuted)
        #expect(rig.player.state.volume == 96)
    }

    @Test(.timeLimit(.minutes(10))) func onlyTheRequestedLevelIsPrinted() {
        var arguments = PlayArguments(files: [])
        arguments.isReallyQuiet = true
        let quiet = Rig("bad", "long", arguments: arguments)
        #expect(quiet.run(.remark(.warning, "a warning"), .remark(.error, "an error"), .terminalKey("q")) == 0)
        let output = quiet.person.output()
        #expect(output.contains("an error.") && !output.contains("a warning"))
    }

    @Test(.timeLimit(.minutes(10))) func aScreenThatWasAskedForByNumberIsTheUsersWill() {
        let gone = OutputError(.unavailable, "there is no screen 7")
        var arguments = PlayArguments(files: [])
        arguments.screen = .number(7)
        #expect(Rig("long", arguments: arguments).run(.screen(.lost(gone))) == 69)
    }
}
