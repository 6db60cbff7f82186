import Glibc
import MediaCore
import Testing

@testable import Playback
@testable import TalkieApp

@Suite struct TerminalTests {
    @Test func theStatusLineIsWrittenOverAndLinesStayAboveIt() {
        let screen = PseudoTerminal(columns: 40)
        let terminal = Terminal(descriptor: screen.program, showsStatus: true)
        terminal.show(status: "one")
        terminal.show(status: "one")
        terminal.show(status: "two")
        #expect(screen.output() == "\r\u{1B}[Kone\r\u{1B}[Ktwo")
        terminal.say("something happened")
        #expect(screen.output() == "\r\u{1B}[Ksomething happened\ntwo")
        terminal.leaveStatus()
        terminal.say("the end")
        #expect(screen.output() == "\nthe end\n")
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [("secre\u{7F}t€\u{7F}\n", "secrt"), ("x\u{15}ab\u{4}c\n", "abc"), ("x\u{3}", nil), ("\u{4}", nil)]
            as [(String, String?)])
    func aSecretIsNotEchoedAndTheEchoIsRestored(typed: String, answer: String?) throws {
        let screen = PseudoTerminal(columns: 40)
        let interrupts = Lock(0)
        let found = Lock<String?>(nil)
        let worker = try WorkerThread.start(name: "question") {
            let question = TerminalQuestion(dup(screen.program)) { interrupts.withLock { $0 += 1 } }
            let line = question.ask("Password: ", isSecret: true)
            found.withLock { $0 = line }
        }
        // The question follows the change of the mode, which discards earlier input.
        var output = ""
        while !output.hasSuffix("Password: ") {
            output += screen.output()
            sched_yield()
        }
        screen.type(typed)
        worker.join()
        #expect(found.withLock { $0 } == answer && screen.output() == "\n")
        #expect(interrupts.withLock { $0 } == (typed.hasSuffix("\u{3}") ? 1 : 0))
        var settings = termios()
        #expect(tcgetattr(screen.program, &settings) == 0)
        let flags = tcflag_t(ECHO | ICANON | ISIG)
        #expect(settings.c_lflag & flags == flags)
    }

    @Test func theStatusLineNeverReachesTheLastColumn() {
        let screen = PseudoTerminal(columns: 10)
        let terminal = Terminal(descriptor: screen.program, showsStatus: true)
        terminal.show(status: "0123456789abcdef")
        #expect(screen.output() == "\r\u{1B}[K01234567…")
        terminal.show(status: "愛愛愛愛愛愛")
        #expect(screen.output() == "\r\u{1B}[K愛愛愛愛…")
    }

    @Test func aPipeThatIsNotReadBlocksNoOneAndSaysHowManyLinesAreMissing() {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        let terminal = Terminal(descriptor: ends[1], showsStatus: false)
        let line = String(repeating: "x", count: 1000)
        let start = HostInstant.now
        // A pipe holds 64 KiB.
        for _ in 0..<500 { terminal.say(line) }
        #expect(HostInstant.now - start < .seconds(30))
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        var held = read(ends[0], &bytes, bytes.count)
        #expect((30_000...(64 << 10)).contains(held))
        terminal.say("the next")
        held = read(ends[0], &bytes, bytes.count)
        let text = String(decoding: bytes[..<max(0, held)], as: UTF8.self)
        #expect(text.hasSuffix("\nthe next\n"), "\(text)")
        #expect(text.hasPrefix("\ntalkie: 4"), "\(text)")
        terminal.say("after that")
        held = read(ends[0], &bytes, bytes.count)
        #expect(String(decoding: bytes[..<max(0, held)], as: UTF8.self) == "after that\n")
    }

    @Test func aPipeGetsLinesAndNoStatus() {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        let terminal = Terminal(descriptor: ends[1], showsStatus: false)
        terminal.show(status: "status")
        terminal.say("a\u{1B}[2Jline")
        terminal.leaveStatus()
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = read(ends[0], &bytes, 100)
        #expect(String(decoding: bytes[..<count], as: UTF8.self) == "a\u{FFFD}[2Jline\n")
    }
}

@Suite struct StatusTextTests {
    @Test func aRecordingSaysItsTitleItsArtistAndItsAlbum() {
        var state = PlayerState()
        state.title = "Song"
        #expect(StatusText.recording(state, title: "Song") == "Song")
        (state.artist, state.album) = ("Singer\u{1B}", "Album")
        #expect(StatusText.recording(state, title: "Named") == "Named\nSinger\u{FFFD}\nAlbum")
        #expect(StatusText.film(state).hasPrefix("Song\nSinger\u{FFFD}\nAlbum\n00:00:00"))
    }

    @Test func thePlaceNamesTheChapterAndTheFilmItsSoundTrack() {
        var state = PlayerState()
        state.title = "Storm"
        (state.position, state.duration) = (MediaTime(value: 75, timescale: 1), MediaTime(value: 150, timescale: 1))
        #expect(StatusText.positionAndChapter(state) == "00:01:15 / 00:02:30 (50%)")
        state.chapters = [(0, "Calm"), (60, "Wind\u{1B}"), (100, nil)].map {
            Chapter(start: MediaTime(value: $0.0, timescale: 1), title: $0.1)
        }
        #expect(StatusText.positionAndChapter(state) == "00:01:15 / 00:02:30 (50%)\n(2/3) Wind\u{FFFD}")
        state.position = MediaTime(value: 120, timescale: 1)
        #expect(StatusText.positionAndChapter(state).hasSuffix("\n(3/3)"))
        #expect(StatusText.film(state).hasPrefix("Storm\n00:02:00"))
        state.audioTracks = (1...3).map { number in
            Track(
                id: number, number: number,
                format: .audio(
                    AudioFormat(parameters: CodecParameters(codec: "aac"), sampleRate: 48000, layout: .stereo)),
                language: "rus", title: "commentary")
        }
        state.audioTrack = state.audioTracks[1]
        #expect(StatusText.film(state).hasSuffix("\nSound track 2 of 3, Russian, commentary"))
        state.audioTracks[1].purpose = .commentary
        state.audioTracks[0].purpose = .description
        state.audioTrack = state.audioTracks[1]
        #expect(StatusText.film(state).hasSuffix("\nSound track 2 of 3, Russian, commentary"), "once")
        let list = StatusText.expanded("${track-list}", state)
        #expect(list.contains("1: Russian, commentary, audio description, stereo, aac"), "\(list)")
    }

    private var state: PlayerState {
        var state = PlayerState()
        state.phase = .playing
        state.position = MediaTime(value: 754, timescale: 10)
        state.duration = MediaTime(value: 3723, timescale: 1)
        state.hasAudio = true
        state.hasVideo = true
        state.audioRoute = "default"
        state.offset = .microseconds(-1240)
        state.droppedFrames = 3
        return state
    }

    @Test func theLineSaysWhereTheFilmIsAndHowWellItKeepsTogether() {
        #expect(
            StatusText.line(state, columns: 120)
                == "AV: 00:01:15 / 01:02:03 (2%)  A-V: -1.2 ms (sound early)  dropped: 3  default")
        var other = state
        other.phase = .paused
        other.offset = .microseconds(700)
        other.isMuted = true
        other.underruns = 2
        other.speed = 1.1
        #expect(
            StatusText.line(other, columns: 200)
                == "(paused)  AV: 00:01:15 / 01:02:03 (2%)  A-V: +0.7 ms (sound late)  dropped: 3  underruns: 2  x1.10  default (muted)"
        )
    }

    @Test func aNarrowTerminalGetsWholeFieldsOnly() {
        #expect(StatusText.line(state, columns: 60) == "AV: 00:01:15 / 01:02:03 (2%)  A-V: -1.2 ms (sound early)")
        #expect(StatusText.line(state, columns: 40) == "AV: 00:01:15 / 01:02:03 (2%)")
        #expect(StatusText.line(state, columns: 1) == "AV: 00:01:15 / 01:02:03 (2%)")
    }

    @Test func whatIsUnknownIsNotMadeUp() {
        var live = state
        live.duration = nil
        live.offset = nil
        #expect(StatusText.line(live, columns: 120).hasPrefix("AV: 00:01:15  A-V: ?  "))
        live.hasAudio = false
        #expect(!StatusText.line(live, columns: 120).contains("A-V"))
        live.phase = .ended
        #expect(StatusText.line(live, columns: 120) == "")
    }
}
