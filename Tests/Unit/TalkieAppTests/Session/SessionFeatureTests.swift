import AirPlay
import Glibc
import MediaCore
import Profiles
import ScreenOutput
import SyncRendering
import TalkieTestKit
import Testing

@testable import Playback
@testable import Routing
@testable import Storage
@testable import TalkieApp
@testable import Telemetry

/// Features of a session beside playback: saved positions, following episodes, dropped files, a log, a repeated
/// section.
@Suite struct SessionFeatureTests {
    private typealias Rig = SessionRig

    /// Quits in the middle of a film by a key.
    private func quit(_ films: String..., by key: String, in folder: TemporaryFolder, keeps: Bool = false) {
        var arguments = PlayArguments(files: [])
        try! arguments.keys.bind("x", to: "seek 30 absolute")
        arguments.keepsPositions = keeps
        let rig = Rig(more: films, arguments: arguments, folder: folder)
        try! rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.mailbox.post(.terminalKey("x"))
        rig.wait { $0.phase == .playing && $0.position.seconds >= 30 }
        #expect(rig.end(.terminalKey(key)) == 0)
    }

    /// Returns the first film played and its start position.
    private func beginning(
        _ films: String..., in folder: TemporaryFolder, by key: String = "q",
        change: (inout PlayArguments) -> Void = { _ in }
    ) -> (film: String?, seconds: Double) {
        var arguments = PlayArguments(files: [])
        change(&arguments)
        let rig = Rig(more: films, arguments: arguments, folder: folder)
        try! rig.director.start()
        var place = 0.0
        rig.wait {
            place = $0.position.seconds
            return $0.phase == .playing
        }
        #expect(rig.end(.terminalKey(key)) == 0)
        return (rig.played.first.map { String($0.split(separator: "/").last ?? "") }, place)
    }

    @Test(.timeLimit(.minutes(10))) func aFilmResumesAfterShiftQAndRestartsAfterQ() {
        let folder = TemporaryFolder()
        let film = folder.write("film", to: "long")
        quit(film, by: "Q", in: folder)
        #expect(beginning(film, in: folder, by: "Q").seconds >= 30)
        #expect(beginning(film, in: folder, change: { $0.resumesPlayback = false }).seconds < 10)
        #expect(
            beginning(film, in: folder, change: { $0.options.start = .fromStart(.zero) }).seconds < 10,
            "a given start replaces the stored position")
        let end = FilmPosition.fromStart(MediaTime(value: 20, timescale: 1))
        #expect(
            beginning(film, in: folder, change: { $0.options.end = end }).seconds < 10,
            "a position behind the requested end is not used, and remains")
        #expect(beginning(film, in: folder).seconds >= 30)
        #expect(beginning(film, in: folder).seconds < 10, "q has forgotten it")
    }

    @Test(.timeLimit(.minutes(10))) func everyEndKeepsThePlaceWhereThatIsWanted() {
        let folder = TemporaryFolder()
        let film = folder.write("film", to: "long")
        quit(film, by: "q", in: folder, keeps: true)
        #expect(beginning(film, in: folder).seconds >= 30)
    }

    @Test(.timeLimit(.minutes(10))) func thePositionOfAFilmIsNotStoredAsThatOfTheOneBeforeIt() throws {
        let folder = TemporaryFolder()
        let films = ["long 1", "long 2"].map { folder.write($0, to: $0) }
        let rig = Rig(films[1], folder: folder)
        try rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.player.pause()
        rig.wait { $0.phase == .paused }
        rig.player.seek(to: MediaTime(value: 30, timescale: 1))
        rig.wait { $0.position.seconds >= 30 }
        let arguments = PlayArguments(files: [])
        let positions = ResumePositions(
            rig.stage, arguments, SessionConsole(rig.stage, arguments), control: rig.director.control, routes: nil)
        let store = ResumePositionStore(StateFolder(path: folder.path))
        positions.store(QueueItem(films[0]))
        #expect(store.read().entries.isEmpty)
        positions.store(try #require(rig.player.state.current))
        #expect(store.read().entries.map(\.film) == [try #require(FilmKey(films[1]))])
        #expect(rig.end(.terminalKey("q")) == 0)
    }

    @Test(.timeLimit(.minutes(10))) func aFilmResumesAsItWasPlayedUnlessAnOptionSaysOtherwise() throws {
        let folder = TemporaryFolder()
        let film = folder.write("film", to: "long")
        let first = Rig(film, folder: folder)
        try first.director.start()
        first.wait { $0.phase == .playing }
        first.player.seek(to: MediaTime(value: 30, timescale: 1))
        first.player.setSpeed(1.5)
        first.player.setMuted(true)
        first.player.setSubtitleDelay(.milliseconds(-300))
        first.wait { $0.position.seconds >= 30 && $0.speed == 1.5 && $0.isMuted }
        #expect(first.end(.terminalKey("Q")) == 0)
        let again = Rig(film, folder: folder)
        try again.director.start()
        again.wait { $0.speed == 1.5 && $0.isMuted && $0.subtitleDelay == .milliseconds(-300) }
        #expect(again.end(.terminalKey("Q")) == 0)
        var arguments = PlayArguments(files: [])
        arguments.options.speed = 2
        arguments.chosen = ["speed"]
        let other = Rig(film, arguments: arguments, folder: folder)
        try other.director.start()
        other.wait { $0.isMuted && $0.position.seconds >= 30 }
        #expect(other.player.state.speed == 2)
        #expect(other.end(.terminalKey("Q")) == 0)
        // Also one that states the usual value.
        arguments.options.speed = 1
        let usual = Rig(film, arguments: arguments, folder: folder)
        try usual.director.start()
        usual.wait { $0.isMuted && $0.position.seconds >= 30 }
        #expect(usual.player.state.speed == 1)
        #expect(usual.end(.terminalKey("q")) == 0)
    }

    @Test(.timeLimit(.minutes(10)), arguments: [true, false])
    func whatIsRestoredForAFilmEndsWithIt(_ isChangedByTheUser: Bool) throws {
        let folder = TemporaryFolder()
        let (first, next) = (folder.write("1", to: "long 1"), folder.write("2", to: "long 2"))
        try ResumePositionStore(StateFolder(path: folder.path)).store(
            MediaTime(value: 30, timescale: 1), of: try #require(FilmKey(first)),
            settings: ["speed": "1.5", "audio-delay": "-0.3", "mute": "yes"])
        let rig = Rig(first, more: [next], folder: folder)
        try rig.director.start()
        rig.wait { $0.speed == 1.5 && $0.audioDelay == .milliseconds(-300) && $0.isMuted }
        if isChangedByTheUser {
            rig.player.setSpeed(2)
            rig.wait { $0.speed == 2 }
        }
        rig.mailbox.post(.terminalKey(">"))
        // The settings return one after another, in any order.
        rig.wait {
            $0.phase == .playing && $0.current?.address == next && $0.audioDelay == .zero && !$0.isMuted
                && (isChangedByTheUser || $0.speed == 1)
        }
        #expect(rig.player.state.speed == (isChangedByTheUser ? 2 : 1))
        #expect(rig.end(.terminalKey("q")) == 0)
    }

    @Test func aWarningIsShownBelowWhereAFilmResumesAndDoesNotReplaceIt() {
        let folder = TemporaryFolder()
        let rig = Rig("long", folder: folder, logs: true)
        let console = SessionConsole(rig.stage, PlayArguments(files: []))
        console.showFirmly("Resumed at 0:30", for: .seconds(3))
        console.warn("The sound continues on 'Kitchen'.")
        #expect(folder.read("log").contains("over the film: Resumed at 0:30 / The sound continues on 'Kitchen'."))
        // What the user requests replaces it.
        console.show("Volume: 80%")
        console.warn("'Kitchen' is silent.")
        #expect(folder.read("log").contains("over the film: 'Kitchen' is silent."))
    }

    // feature: key C
    @Test(.timeLimit(.minutes(10))) func theKeyForLouderVoicesSaysWhatTheSoundLacks() throws {
        let folder = TemporaryFolder()
        let rig = Rig("long", folder: folder, logs: true)
        try rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.mailbox.post(.terminalKey("C"))
        rig.wait { _ in folder.read("log").contains("This sound is stereo: its voices cannot be louder") }
        #expect(folder.read("log").contains("This sound is stereo: its voices cannot be louder"))
        #expect(rig.end(.terminalKey("q")) == 0)
    }

    @Test(.timeLimit(.minutes(10))) func aListBeginsWithTheFilmThatWasStopped() {
        let folder = TemporaryFolder()
        let films = ["long 1", "long 2", "long 3"].map { folder.write($0, to: $0) }
        quit(films[1], by: "Q", in: folder)
        let begun = beginning(films[0], films[1], films[2], in: folder)
        #expect(begun.film == "long 2" && begun.seconds >= 30)
    }

    @Test(.timeLimit(.minutes(10))) func aFinishedFilmIsForgottenAndALaterOneResumes() throws {
        let folder = TemporaryFolder()
        let short = folder.write("film", to: "short")
        let long = folder.write("film", to: "long")
        let store = ResumePositionStore(StateFolder(path: folder.path))
        let place = MediaTime(value: 30, timescale: 1)
        try store.store(place, of: #require(FilmKey(long)))
        try store.store(MediaTime(value: 100, timescale: 1000), of: #require(FilmKey(short)))
        let records = TemporaryFolder()
        let rig = Rig(more: [short, long], timeline: records.path("record"), folder: folder)
        try rig.director.start()
        var seen = 0.0
        rig.wait {
            seen = $0.position.seconds
            return $0.phase == .playing && $0.current?.address == long
        }
        #expect(rig.end(.terminalKey("Q")) == 0)
        #expect(seen >= 30)
        #expect(store.read().entries.map(\.film) == [try #require(FilmKey(long))])
        // It is opened after the end of the first film, which the record states.
        let lines = records.read("record").split(separator: "\n").filter {
            $0.contains(#""event":"film""#) || $0.contains(#""phase":"ended""#)
        }
        #expect(lines.count == 3 && lines[1].contains("ended") && lines[2].contains("long"), "\(lines)")
    }

    @Test(.timeLimit(.minutes(10))) func theNextEpisodeIsOfferedNearTheEndAndPlaysWhenThatIsWanted() throws {
        let folder = TemporaryFolder()
        let films = ["long 1.mkv", "long 2.mkv", "long 10.mkv"].map { folder.write("film", to: $0) }
        var arguments = PlayArguments(files: [])
        arguments.logLevel = .info
        try! arguments.keys.bind("x", to: "seek -5.5 absolute")
        let rig = Rig(films[0], arguments: arguments, folder: folder)
        try! rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.mailbox.post(.terminalKey("x"))
        var output = ""
        rig.wait { _ in
            output += rig.person.output()
            return output.contains("> plays 'long 2.mkv' next")
        }
        #expect(try rig.director.control.value(of: "next-episode").text == "long 2.mkv")
        rig.mailbox.post(.terminalKey(">"))
        rig.wait { $0.phase == .playing && $0.current?.address == films[1] }
        #expect(rig.end(.terminalKey("q")) == 0)
        #expect(output.contains("> plays 'long 2.mkv' next"), "\(output)")
        // So near the end the appended film may be opened ahead before the step to it opens it.
        #expect(rig.played.first == films[0] && Set(rig.played.dropFirst()) == [films[1]], "\(rig.played)")
    }

    @Test(.timeLimit(.minutes(10))) func aFilmThatHasEndedIsNotFollowedByWhatWasOnlyOffered() {
        let folder = TemporaryFolder()
        let films = ["short 1.mkv", "short 2.mkv"].map { folder.write("film", to: $0) }
        let rig = Rig(films[0], folder: folder)
        #expect(rig.run() == 0)
        #expect(rig.played == [films[0]])
    }

    // MARK: Files dropped on the window

    @Test(.timeLimit(.minutes(10))) func filesThatAreDroppedPlayInPlaceOfTheListOrBehindIt() {
        let folder = TemporaryFolder()
        let films = ["long 1.mkv", "long 2.mkv", "short.mkv"].map { folder.write("film", to: $0) }
        let rig = Rig("long", folder: folder)
        try! rig.director.start()
        rig.wait { $0.phase == .playing }
        rig.mailbox.post(.screen(.dropped([films[0], "/no/such/film"], appends: false)))
        rig.wait { $0.phase == .playing && $0.current?.address == films[0] }
        rig.mailbox.post(.screen(.dropped([films[2]], appends: true)))
        rig.mailbox.post(.screen(.dropped(["/nothing/else"], appends: true)))
        rig.mailbox.post(.terminalKey(">"))
        #expect(rig.end() == 0)
        #expect(rig.played == ["long", films[0], films[2]])
        let output = rig.person.output()
        #expect(output.contains("there is no file '/no/such/film'"), "\(output)")
        #expect(output.contains("there is no file '/nothing/else'"), "\(output)")
    }

    /// Also of a session without a window; not with `--audio-delay`, which replaces calibrations.
    @Test(.timeLimit(.minutes(10)), arguments: [false, true]) func anAssumedDelayIsReportedOnce(hasOwnDelay: Bool) {
        let share = LatencyShare(name: "sound card", duration: .milliseconds(150), source: .assumed)
        let group = OutputGroup(members: [RecordingOutput(shares: [share])], codecs: SyntheticCodecs())
        let calibration = RouteCalibration(
            group, identify: { _ in OutputIdentity(key: "headset", name: "Headset", query: "Headset", route: "card") },
            profiles: { [] })
        var arguments = PlayArguments(files: [])
        if hasOwnDelay { arguments.chosen = ["audio-delay"] }
        let rig = Rig("a", "b", arguments: arguments, calibration: calibration)
        #expect(rig.run(.sinkChanged) == 0)
        let lines = rig.person.output().split(separator: "\n").filter { $0.contains("talkie calibrate 'Headset'") }
        #expect(lines.count == (hasOwnDelay ? 0 : 1))
    }

    @Test(.timeLimit(.minutes(10))) func theLogContainsMessagesOfEveryLevel() {
        let folder = TemporaryFolder()
        var arguments = PlayArguments(files: [])
        arguments.isReallyQuiet = true
        let rig = Rig("a", "b", arguments: arguments, folder: folder, logs: true)
        #expect(rig.run(.remark(.info, "just so you know"), .terminalKey("m")) == 0)
        #expect(rig.person.output() == "")
        let log = folder.read("log")
        #expect(log.hasPrefix("talkie \(Release.version) log\n"))
        #expect(log.contains("][info] playing 'a' (1 of 2).\n") && log.contains("][debug] playing.\n"), "\(log)")
        #expect(log.contains("][info] just so you know.\n") && log.contains("][debug] over the film: Muted.\n"))
    }

    // MARK: Repeated section

    @Test(.timeLimit(.minutes(10))) func oneKeyMarksABeginningThenAnEndAndThenNeither() {
        var arguments = PlayArguments(files: [])
        try! arguments.keys.bind("x", to: "seek 30 absolute")
        try! arguments.keys.bind("z", to: "seek 1 absolute")
        let rig = Rig("long", arguments: arguments)
        try! rig.director.start()
        rig.wait { $0.phase == .playing }
        // During a pause the marks do not depend on how soon the keys are handled.
        rig.mailbox.post(.terminalKey("p"))
        rig.mailbox.post(.terminalKey("z"))
        rig.wait { $0.phase == .paused && $0.position.seconds == 1 }
        rig.mailbox.post(.terminalKey("l"))
        rig.mailbox.post(.terminalKey("x"))
        rig.wait { $0.phase == .paused && $0.position.seconds == 30 }
        rig.mailbox.post(.terminalKey("l"))
        rig.mailbox.post(.terminalKey("p"))
        // Back at the section's start.
        rig.wait { $0.phase == .playing && $0.position.seconds < 20 }
        rig.mailbox.post(.terminalKey("l"))
        #expect(rig.end(.terminalKey("q")) == 0)
        #expect(rig.director.controls.sectionStart == nil && rig.director.controls.sectionEnd == nil)
    }
}
