import AirPlayWire
import Foundation
import Glibc
import MediaCore
import PTP
import Sockets
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport

/// Remembered outputs and the list of outputs in a terminal.
extension SpeakerBrowserTests {
    /// Starts an announced speaker with a separate address.
    private func speaker(
        _ name: String, host: UInt8, admission: PairSetupResponder.Admission = .open
    ) throws -> SoftwareSpeaker {
        try SoftwareSpeaker(
            SpeakerConfiguration(
                name: name, address: NetworkAddress(ipv4: 0x7F00_0000 | UInt32(host)), port: 0, clock: .required,
                admission: admission, isAnnounced: true))
    }

    /// Environment with ALSA's null device as the default card: the film plays inaudibly.
    private func environment(_ state: Scratch) throws -> [String: String] {
        let configuration = try state.file(
            "asound.conf", Data("</usr/share/alsa/alsa.conf>\npcm.!default { type null }\n".utf8))
        return ["XDG_STATE_HOME": state.folder.path, "ALSA_CONFIG_PATH": configuration]
    }

    /// Plays the talking clip repeatedly in a terminal.
    private func evening(_ state: Scratch, _ options: String...) throws -> TerminalProcess {
        TerminalProcess(
            ["play", "--log-level", "info", "--loop-file", "inf"] + options
                + [Program.media("talking.mp4")], environment: try environment(state))
    }

    private func frames(_ speaker: SoftwareSpeaker) -> Int { speaker.record.spans.reduce(0) { $0 + $1.frames } }

    /// Runs the program once with a named speaker, so that the output is remembered.
    private func firstEvening(_ state: Scratch, _ name: String) throws {
        let result = try Program.run(
            Program.talkie,
            ["play", "--no-video", "--really-quiet", "--end", "1", "--speaker", name, Program.media("talking.mp4")],
            environment: try environment(state).mapValues(Optional.some), atMost: 40)
        try #require(result.status == 0, "\(result.errors)")
    }

    // feature: --route-memory
    @Test func onAnotherEveningTheSamePlaceIsOfferedAndIsTwoKeysAway() throws {
        let hall = try speaker("Hall", host: 21)
        defer { hall.stop() }
        let state = try Scratch()
        try firstEvening(state, "Hall")
        let before = frames(hall)
        let second = try evening(state)
        #expect(second.see("sound on Hall, as before? Press s, then Enter"), "\(second.output)")
        // The remembered output is only offered; it is not selected automatically.
        #expect(frames(hall) == before)
        second.type("s")
        #expect(second.see(">[ ] Hall<"), "\(second.output)")
        second.type("\r")
        #expect(second.see("Sound: Hall"), "\(second.output)")
        #expect(hall.record.wait(until: .now.advanced(by: .seconds(10))) { _ in self.frames(hall) > before + 44100 })
        second.type("q")
        #expect(second.wait() == .status(0))

        // `always` selects the remembered output without a question, `never` ignores it.
        let third = try evening(state, "--route-memory", "always")
        #expect(third.see("Sound: Hall"), "\(third.output)")
        third.type("q")
        #expect(third.wait() == .status(0))
        let heard = frames(hall)
        let fourth = try evening(state, "--route-memory", "never")
        #expect(fourth.see("AV: 00:00:03"), "\(fourth.output)")
        fourth.type("q")
        #expect(fourth.wait() == .status(0))
        #expect(!fourth.output.contains("Hall"))
        #expect(frames(hall) == heard)
    }

    @Test func aSpeakerThatIsPairedInAnotherTerminalIsAvailableAtOnce() throws {
        let safe = try speaker("Safe", host: 23, admission: .pin("2468"))
        defer { safe.stop() }
        let state = try Scratch()
        let film = try evening(state)
        #expect(film.see("AV: 00:00:0"), "\(film.output)")
        film.type("s")
        #expect(film.see("[ ] Safe"), "\(film.output)")
        film.type("\u{1B}[F\r")
        #expect(film.see("PIN that Safe shows:"), "\(film.output)")
        film.discardOutput()
        film.type("\u{1B}")
        #expect(film.see(">[ ] Safe<"), "\(film.output)")
        let paired = try Program.run(
            Program.talkie, ["pair", "Safe", "--pin", "2468"],
            environment: try environment(state).mapValues(Optional.some), atMost: 40)
        #expect(paired.status == 0, "\(paired.errors)")
        // The list updates within a second; until then it asks again.
        var isHeard = false
        for _ in 0..<4 where !isHeard {
            film.discardOutput()
            film.type("\r")
            isHeard = safe.record.wait(until: .now.advanced(by: .seconds(6))) { _ in self.frames(safe) > 0 }
            if isHeard { break }
            film.discardOutput()
            // Enter directly after Escape would be Alt+Enter.
            film.type("\u{1B}")
            #expect(film.see(">[ ] Safe<"), "\(film.output)")
        }
        #expect(isHeard, "\(film.output)")
        film.type("q")
        #expect(film.wait() == .status(0))
    }

    @Test(arguments: [
        (PairSetupResponder.Admission.pin("2468"), "PIN that Safe shows:"), (.password("sesame"), "Password of Safe:"),
    ])
    func aSpeakerThatMustBePairedFirstAsksInTheListAndTheSoundStays(
        admission: PairSetupResponder.Admission, words: String
    ) throws {
        let safe = try speaker("Safe", host: 22, admission: admission)
        defer { safe.stop() }
        let state = try Scratch()
        let film = try evening(state)
        #expect(film.see("AV: 00:00:0"), "\(film.output)")
        film.type("s")
        #expect(film.see("[ ] Safe"), "\(film.output)")
        film.type("\u{1B}[F")
        #expect(film.see(">[ ] Safe"), "\(film.output)")
        film.type("\r")
        #expect(film.see(words), "\(film.output)")
        film.discardOutput()
        film.type("\u{1B}")
        #expect(film.see("[ ] Safe"), "the question is cancelled: \(film.output)")
        film.type("s")
        film.discardOutput()
        #expect(film.see("AV: 00:00:"), "the film goes on: \(film.output)")
        film.type("q")
        #expect(film.wait() == .status(0))
        #expect(frames(safe) == 0)
    }
}
