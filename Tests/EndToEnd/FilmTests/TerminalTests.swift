import Foundation
import Glibc
import MediaCore
import Sockets
import TalkieTestKit
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

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

    /// `fg` sends no signal to a program that runs in the background.
    @Test func keysWorkAfterTheFilmWasInTheBackground() throws {
        let shell = TerminalProcess(["--norc", "--noprofile", "-i"], of: "/bin/bash")
        shell.type("'\(Program.talkie)' play '\(Program.media("talking.mp4"))' --no-audio --loop-file=inf\n")
        try #require(shell.see("V: 00:00:0"), "\(shell.output)")
        shell.type("\u{1A}")
        #expect(shell.see("Stopped"))
        shell.type("bg\n")
        #expect(shell.see("&"))
        shell.discardOutput()
        shell.type("fg\n")
        // The shell names the command; its line editor has given the terminal back then.
        #expect(shell.see("--loop-file=inf"))
        let end = HostInstant.now.advanced(by: .seconds(20))
        while shell.isAsShellsLeaveIt, HostInstant.now < end { usleep(50_000) }
        #expect(!shell.isAsShellsLeaveIt)
        shell.discardOutput()
        shell.type("q")
        #expect(shell.see("bash-"), "\(shell.output)")
        shell.type("echo status-$?\n")
        #expect(shell.see("status-0"), "\(shell.output)")
        shell.type("exit\n")
        #expect(shell.wait() == .status(0))
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

    /// Ways to quit.
    enum Quit: CaseIterable { case key, controlC, signal, command }

    /// Manifests and playlists of untrusted servers on which the parser works for a second.
    @Test(.repeatedWhenTheMachineStalls, arguments: Quit.allCases, ["timeline.mpd", "keys.m3u8"])
    func workOnUntrustedInputDelaysNoQuit(_ quit: Quit, of name: String) throws {
        let scratch = try Scratch()
        let head = "<MPD mediaPresentationDuration='PT10S'><Period><AdaptationSet mimeType='video/mp4'>"
        let timeline =
            "<SegmentTemplate media='ftp://b'><SegmentTimeline><S d='1' r='99999'/></SegmentTimeline></SegmentTemplate>"
        let key = "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",KEYFORMAT=\"x\"\n"
        let text =
            name == "keys.m3u8"
            ? "#EXTM3U\n#EXT-X-TARGETDURATION:1\n" + String(repeating: key, count: 600_000)
                + "#EXTINF:1,\nnone.ts\n#EXT-X-ENDLIST\n"
            : head + timeline + String(repeating: "<Representation/>", count: 90_000)
                + "</AdaptationSet></Period></MPD>"
        try Data(text.utf8).write(to: URL(filePath: scratch.path(name)))
        let server = try TinyWebServer(serving: scratch.folder.path)
        defer { server.stop() }
        let socket = scratch.path("ipc")
        let process = TerminalProcess(["play", server.url(name), "--no-audio", "--input-ipc-server", socket])
        // The reply of a quit by IPC needs no time of its own.
        let stream = quit == .command ? Self.connect(to: socket) : nil
        let deadline = HostInstant.now.advanced(by: .seconds(30))
        while process.processorTime(of: "prefetch").map({ $0 < 0.1 }) ?? true, HostInstant.now < deadline {
            HostInstant.now.advanced(by: .milliseconds(2)).sleep()
        }
        let begin = HostInstant.now
        switch quit {
        case .key: process.type("q")
        case .controlC: process.type("\u{3}")
        case .signal: process.send(SIGTERM)
        case .command: _ = Array("{\"command\":[\"quit\"]}\n".utf8).withUnsafeBytes { stream?.send($0) }
        }
        let ending = process.wait()
        let seconds = (HostInstant.now - begin).inSeconds
        #expect(!process.output.contains("talkie: "), "it was parsed before the quit: \(process.output)")
        #expect([.status(0), .status(130), .status(143)].contains(ending), "\(ending)")
        #expect(seconds < 0.5)
    }

    private static func connect(to path: String) -> LocalStream? {
        let deadline = HostInstant.now.advanced(by: .seconds(30))
        while HostInstant.now < deadline {
            if let stream = LocalStream.connect(to: path) { return stream }
            HostInstant.now.advanced(by: .milliseconds(2)).sleep()
        }
        return nil
    }
}
