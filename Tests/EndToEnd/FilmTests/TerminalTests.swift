import Foundation
import Glibc
import Testing

@testable import ProgramTestSupport

/// `talkie play` in a terminal: keys, status line, and restored terminal settings however the program ends.
@Suite(.serialized, .timeLimit(.minutes(10))) struct TerminalTests {
    /// Plays the talking clip without audio; returns when the status line is shown.
    private func play(_ options: String...) throws -> TerminalProcess {
        let process = TerminalProcess(["play", Program.media("talking.mp4"), "--no-audio"] + options)
        try #require(process.see("V: 00:00:0"), "\(process.output)")
        return process
    }

    @Test func keysSteerTheFilm() throws {
        let process = try play()
        #expect(!process.isAsShellsLeaveIt)
        process.type(" ")
        #expect(process.see("(paused)"))
        process.discardOutput()
        process.type("\u{1B}[A")
        // One minute ahead is beyond the end of the clip: a paused seek stops 0.1 s before the end.
        #expect(process.see("(99%)"))
        process.type("q")
        #expect(process.wait() == .status(0))
        #expect(process.isAsShellsLeaveIt)
    }

    // feature: exit status 130, exit status 143
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func aSignalEndsTheFilmAndGivesTheTerminalBack(signal: Int32, status: Int32) throws {
        let process = try play()
        process.send(signal)
        #expect(process.wait() == .status(status))
        #expect(process.isAsShellsLeaveIt)
    }

    @Test func controlCEndsTheFilm() throws {
        let process = try play()
        process.type("\u{3}")
        #expect(process.wait() == .status(130))
        #expect(process.isAsShellsLeaveIt)
    }

    @Test(arguments: [SIGSEGV, SIGABRT, SIGQUIT] as [Int32])
    func evenAViolentEndGivesTheTerminalBack(signal: Int32) throws {
        let process = try play()
        process.send(signal)
        #expect(process.wait() == .signal(signal))
        #expect(process.isAsShellsLeaveIt)
    }

    @Test func controlZSuspendsTheFilmWhichResumesLater() throws {
        let process = try play()
        process.type("\u{1A}")
        #expect(process.wait() == .stopped)
        #expect(process.isAsShellsLeaveIt)
        process.discardOutput()
        process.send(SIGCONT)
        #expect(process.see("V: 00:00:0"))
        #expect(!process.isAsShellsLeaveIt)
        process.type("q")
        #expect(process.wait() == .status(0))
    }

    @Test func aFilmFromStandardInputLeavesTheKeysAlone() throws {
        let process = TerminalProcess(["play", "-", "--no-audio"])
        #expect(process.see("opening"))
        #expect(process.isAsShellsLeaveIt)
        // A blocking read from an idle terminal cannot be cancelled; the program must exit nevertheless.
        process.send(SIGTERM)
        #expect(process.wait() == .status(143))
        #expect(process.isAsShellsLeaveIt)
    }

    @Test func quietMeansNothingAtAll() throws {
        let process = TerminalProcess([
            "play", Program.media("talking.mp4"), "--no-audio", "--really-quiet", "--end", "0.2",
        ])
        #expect(process.wait() == .status(0))
        #expect(process.output == "")
    }
}
