import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import Playback
@testable import TalkieApp

/// A session that is controlled by something else than keys.
@Suite struct SessionControlTests {
    /// The codes of the errors of commands, in order; "done" for those that succeeded.
    private let answers = Lock<[String]>([])

    private func perform(_ line: String, _ rig: SessionRig, then answered: Signal? = nil) {
        rig.director.control.perform(line.split(separator: " ").map { .text(String($0)) }) { [answers] result in
            answers.withLock { answers in
                switch result {
                case .success: answers.append("done")
                case .failure(let error): answers.append(error.code.rawValue)
                }
            }
            answered?.raise()
        }
    }

    private func play(_ film: String) throws -> SessionRig {
        let rig = SessionRig(film, logs: true)
        try rig.director.start()
        rig.wait { $0.phase == .playing }
        return rig
    }

    @Test(.timeLimit(.minutes(10))) func aControllerPausesShowsTextAndQuits() throws {
        let rig = try play("long")
        perform("set pause yes", rig)
        rig.wait { $0.phase == .paused }
        perform("add audio-delay 0.1", rig)
        perform("show-text hello", rig)
        perform("screenshot", rig)
        perform("show-text ${path}", rig)
        perform("quit", rig)
        #expect(rig.end() == 0)
        #expect(Set(answers.withLock { $0 }) == ["done", "unavailable", "out-of-range"])
        #expect(rig.player.state.audioDelay == .milliseconds(100))
        let log = rig.folder.read("log")
        #expect(log.contains("over the film: hello"))
        #expect(!log.contains("Paused") && !log.contains("Audio delay"), "the effect of keys alone is displayed")
    }

    @Test(.timeLimit(.minutes(10))) func theEndOfTheLastFilmCountsAfterARefusedNext() throws {
        let rig = try play("long")
        let begin = HostInstant.now
        #expect(rig.end(.terminalKey(">"), .player(.phase(.ended))) == 0)
        #expect(HostInstant.now - begin < .seconds(40), "the film itself takes a minute")
    }

    @Test(.timeLimit(.minutes(10))) func theOutputsAreListedAndChosen() throws {
        let rig = try play("long")
        let card = rig.toys.destination("card").id
        let arrived = Signal()
        let control = rig.director.control
        _ = try control.observe("audio-device-list/0/name") { if $0?.text == card { arrived.raise() } }
        perform("show-text now", rig)
        arrived.wait()
        _ = try control.observe("audio-device") { if $0?.text == card { arrived.raise() } }
        perform("set audio-device nowhere", rig)
        perform("output-volume nowhere 50", rig)
        perform("output-language nowhere de", rig)
        perform("output-language \(card) ,", rig)
        perform("set audio-device \(card)", rig)
        arrived.wait()
        #expect(rig.end(.terminalKey("q")) == 0)
        #expect(answers.withLock { $0.filter { $0 == "unavailable" }.count } == 3)
        #expect(answers.withLock { $0.filter { $0 == "wrong-type" }.count } == 1)
    }

    /// Loads a film, and waits for the reply.
    private func load(_ film: String, _ mode: String, _ rig: SessionRig) {
        let answered = Signal()
        rig.director.control.perform([.text("loadfile"), .text(film), .text(mode)]) { result in
            if case .success(.object) = result { answered.raise() }
        }
        answered.wait()
    }

    @Test(.timeLimit(.minutes(10))) func thePlaylistHasALoadedFilmWhenTheReplyArrives() throws {
        let folder = TemporaryFolder()
        let film = folder.write("film", to: "long 1.mkv")
        let rig = try play(film)
        for count in 2...30 {
            load(film, "append", rig)
            #expect(try rig.director.control.value(of: "playlist-count") == .integer(count))
        }
        #expect(rig.end(.terminalKey("q")) == 0)
    }

    @Test(.timeLimit(.minutes(10))) func aLoadedFilmFollowsOrReplacesTheOthers() throws {
        let folder = TemporaryFolder()
        let films = ["long 1.mkv", "long 2.mkv", "long 3.mkv"].map { folder.write("film", to: $0) }
        let rig = try play(films[0])
        load(films[2], "append", rig)
        load(films[1], "insert-next", rig)
        rig.wait { $0.items.count == 3 }
        #expect(rig.player.state.items.map(\.address) == films)
        load(films[2], "replace", rig)
        rig.wait { $0.items.map(\.address) == [films[2]] }
        perform("loadfile /no/such/film", rig)
        #expect(rig.end(.terminalKey("q")) == 0)
        #expect(answers.withLock { $0 } == ["failed"])
    }

    @Test(.timeLimit(.minutes(10))) func afterTheEndEveryCommandIsAnswered() throws {
        let rig = try play("long")
        #expect(rig.end(.terminalKey("q")) == 0)
        perform("show-text late", rig)
        perform("set pause yes", rig)
        rig.director.reportRest()
        #expect(answers.withLock { $0 } == ["unavailable", "unavailable"])
        #expect(throws: ControlError.self) { try rig.director.control.observe("pause") { _ in } }
    }
}
