import Foundation
import Testing

@testable import ProgramTestSupport

/// Messages about mistyped arguments, missing tracks and missing devices.
@Suite(.serialized, .timeLimit(.minutes(3))) struct WordsTests {
    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// Plays with SDL's dummy window and ALSA's null device, which accepts everything at once.
    private func play(_ arguments: [String], card: String = "null") throws -> Program.Result {
        try Program.run(
            Program.talkie, ["play", "--audio-device", card] + arguments,
            environment: ["SDL_VIDEODRIVER": "dummy", "DISPLAY": nil, "WAYLAND_DISPLAY": nil], atMost: 30)
    }

    // feature: exit status 2
    @Test(arguments: [
        (["paly"], "unknown command 'paly'; did you mean 'play'?"),
        (["film"], "'film' is neither a command nor an existing file; check the name."),
        (["--versoin"], "unknown option '--versoin'; did you mean '--version'?"),
        (["pair", "--pni", "1"], "unknown option '--pni'; did you mean '--pin'?"),
        (["play", "--spede", "2", "film.mp4"], "unknown option '--spede'; did you mean '--speed'?"),
        (
            ["play", "-dash.mp4"],
            "'-dash.mp4' looks like an option; to play a file of that name, write './-dash.mp4' or '-- -dash.mp4'."
        ),
        (
            ["--mute", "-dash.mp4"],
            "'-dash.mp4' looks like an option; to play a file of that name, write './-dash.mp4' or '-- -dash.mp4'."
        ),
        (["play", "--fs=maybe", "film.mp4"], "--fs must be yes or no, not 'maybe'."),
    ])
    func aSlipIsNamedWithWhatWasMeant(words: [String], sentence: String) throws {
        let result = try Program.run(Program.talkie, words, atMost: 20)
        #expect(result.status == 2 && result.output.isEmpty, "\(result.output)")
        #expect(result.errorLines.count == 2 && result.errorLines.first == "talkie: " + sentence, "\(result.errors)")
    }

    @Test func aFilmWhoseNameBeginsWithADashIsPlayedAsTheSentenceSays() throws {
        let film = scratch.path("-dash.mp4")
        try FileManager.default.copyItem(atPath: Program.media("flash-and-beep.mp4"), toPath: film)
        let result = try play(["--end", "0.2", "--", film])
        #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    }

    @Test func aSwitchInTheConfigurationTakesYesOrNo() throws {
        _ = try scratch.file("talkie.conf", Data("fs=maybe\nmute=yes\nsub-visibility=perhaps\n".utf8))
        let result = try play([
            "--config-dir", scratch.folder.path, "--end", "0.2", Program.media("flash-and-beep.mp4"),
        ])
        #expect(result.status == 0)
        #expect(result.errors.contains("talkie.conf line 1: --fs must be yes or no, not 'maybe'"), "\(result.errors)")
        #expect(result.errors.contains("line 3: --sub-visibility must be yes or no, not 'perhaps'"), "\(result.errors)")
        #expect(!result.errors.contains("line 2"), "\(result.errors)")
    }

    @Test(arguments: ["http", "rtsp"]) func aServerWithoutAnAddressIsNamed(scheme: String) throws {
        let result = try play(["\(scheme)://nosuch.invalid/film.mp4"])
        #expect(result.status == 66)
        #expect(
            result.errorLines == [
                "talkie: cannot open \"\(scheme)://nosuch.invalid/film.mp4\": the name of the server 'nosuch.invalid' cannot be "
                    + "resolved; check the address and the network."
            ])
    }

    @Test func tracksThatTheFilmDoesNotHaveAreNamed() throws {
        let result = try play([
            "--end", "0.3", "--aid", "7", "--vid", "3", "--sid", "9", Program.media("talking.mp4"),
        ])
        #expect(result.status == 0)
        #expect(
            Set(result.errorLines) == [
                "talkie: This film has no sound track 7; the first suitable one plays instead.",
                "talkie: This film has no picture track 3; it plays without a picture.",
                "talkie: This film has no subtitles 9; it plays without them.",
            ], "\(result.errors)")
    }

    /// Runs with an ALSA configuration of a computer without a card.
    private func withoutCard(_ changes: [String: String?]) throws -> Program.Result {
        let configuration = try scratch.file(
            "asound.conf", Data("</usr/share/alsa/alsa.conf>\npcm.!default { type hw card 31 }\n".utf8))
        var environment: [String: String?] = ["ALSA_CONFIG_PATH": configuration, "PULSE_SERVER": nil]
        environment.merge(["DISPLAY": nil, "WAYLAND_DISPLAY": nil]) { $1 }
        environment.merge(changes) { $1 }
        return try Program.run(
            Program.talkie, ["play", "--end", "1", Program.media("talking.mp4")], environment: environment, atMost: 30)
    }

    // feature: guide: When it is not right
    @Test func aCardThatIsNotThereIsReportedOnce() throws {
        let result = try withoutCard(["SDL_VIDEODRIVER": "dummy"])
        #expect(result.status == 0)
        #expect(result.errorLines.count == 1, "\(result.errors)")
        #expect(result.errors.contains("The picture continues without sound."), "\(result.errors)")
        #expect(!result.errors.contains("is silent"), "\(result.errors)")
    }

    // feature: exit status 69
    @Test func withoutAScreenAndWithoutACardNothingIsPlayed() throws {
        let result = try withoutCard(["SDL_VIDEODRIVER": "x11"])
        #expect(result.status == 69, "\(result.errors)")
        #expect(result.errors.lowercased().contains("no display can be reached"), "\(result.errors)")
    }

    @Test func aScreenThatIsMissingWhenNothingIsHeardEitherIsNoReasonToAdviseSound() throws {
        let result = try Program.run(
            Program.talkie, ["play", "--no-audio", Program.media("talking.mp4")],
            environment: ["DISPLAY": nil, "WAYLAND_DISPLAY": nil, "SDL_VIDEODRIVER": "x11"], atMost: 30)
        #expect(result.status == 69 && result.errorLines.count == 1, "\(result.errors)")
        #expect(!result.errors.contains("--no-video"), "\(result.errors)")
    }

    @Test func aCueSheetGivesItsRecordingChapters() throws {
        let sheet = """
            REM made by hand
            PERFORMER "The Band"
            TITLE "The Record"
            FILE "record.wav" WAVE
              TRACK 01 AUDIO
                TITLE "First"
                INDEX 01 00:00:00
              TRACK 02 AUDIO
                TITLE "Second"
                PERFORMER "Guest"
                INDEX 00 00:03:00
                INDEX 01 00:04:00
            """
        let path = try scratch.file("record.cue", Data(sheet.utf8))
        // The sheet names the original file; the existing one was encoded later and has another extension.
        try FileManager.default.copyItem(
            atPath: Program.media("flash-and-beep.mp4"), toPath: scratch.path("record.m4a"))
        let log = scratch.path("log")
        let process = TerminalProcess(["play", "--audio-device", "null", "--no-video", "--log-file", log, path])
        #expect(process.see("A: 00:00:0"), "\(process.output)")
        process.type("o")
        process.discardOutput()
        // Page Up.
        process.type("\u{1B}[5~")
        #expect(process.see("A: 00:00:04"), "\(process.output)")
        process.type("q")
        #expect(process.wait() == .status(0))
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("The Record / The Band"), "\(text)")
        #expect(text.contains("(1/2) First") && text.contains("(2/2) Guest – Second"), "\(text)")
    }

    @Test func aCueSheetWhoseRecordingIsMissingSaysWhatToDo() throws {
        let path = try scratch.file(
            "lost.cue", Data("FILE \"lost.wav\" WAVE\nTRACK 01 AUDIO\nINDEX 01 00:00:00\n".utf8))
        let result = try play([path])
        #expect(result.status == 66 && result.errorLines.count == 1, "\(result.errors)")
        #expect(result.errors.contains("there is no file \"lost.wav\" next to the cue sheet"), "\(result.errors)")
    }
}
