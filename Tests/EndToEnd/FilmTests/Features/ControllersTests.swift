import Foundation
import Glibc
import MediaCore
import Sockets
import TalkieTestKit
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport
@testable import VirtualSpeaker

/// A film on a software speaker, and what its controllers and that speaker show. Used by the thread that runs the
/// program.
private final class ControlledFilm {
    private let scratch: Scratch
    private let bus: ChildProcess
    let environment: [String: String]
    let speaker: SoftwareSpeaker
    private let page: ReservedPort
    private var json: LocalStream?
    private var events: TCPSocket?
    private var status: ChildProcess?
    /// What arrived from each of these.
    private var texts = ["json": "", "events": "", "status": ""]
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    /// - Parameter host: the last number of the speaker's address.
    init(host: UInt8, quirks: String...) throws {
        scratch = try Scratch()
        let address: String
        (bus, address) = try SessionBus.start(at: scratch.path("bus"))
        // playerctl asks the system's bus too, and fails where only the socket of one is left.
        environment = [
            "DBUS_SESSION_BUS_ADDRESS": address, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(scratch.path("no-bus"))",
            "XDG_RUNTIME_DIR": scratch.folder.path,
        ]
        page = try ReservedPort()
        var all = SpeakerQuirks()
        for quirk in quirks { try all.set(quirk) }
        speaker = try SoftwareSpeaker(
            SpeakerConfiguration(
                address: NetworkAddress(ipv4: 0x7F00_0000 | UInt32(host)), port: 0, clock: .required, quirks: all))
    }

    private var log: String { scratch.path("log") }

    /// Plays until `body` ends. Returns the program's result.
    func play(_ body: () throws -> Void) throws -> Program.Result {
        let film = try Lab.tone(440, seconds: 60, rate: 48000, ["-c:a", "aac"], named: "remote.m4a").path
        var failure: (any Error)?
        let result = try Program.run(
            Program.talkie,
            [
                "play", "--no-video", "--speaker", "airplay://\(speaker.configuration.address):\(speaker.port)",
                "--input-ipc-server", scratch.path("socket"), "--remote", "127.0.0.1:\(page.number)", "--log-file", log,
                film,
            ],
            environment: environment.mapValues { Optional($0) }.merging(["XDG_STATE_HOME": scratch.path("state")]) {
                $1
            }, atMost: 10
        ) { pid in
            do { try body() } catch { failure = error }
            kill(pid, SIGTERM)
        }
        status?.end()
        bus.end()
        speaker.stop()
        if let failure { throw failure }
        return result
    }

    // MARK: Observers

    /// Connects all observers once the film plays.
    func observe() throws {
        try wait("the film to play") { self.speaker.record.spans.reduce(0) { $0 + $1.frames } > 0 }
        let limit = HostInstant.now.advanced(by: .seconds(10))
        let json = try #require(LocalStream.connect(to: scratch.path("socket")))
        send("{\"command\":[\"observe_property\",1,\"pause\"]}\n", over: json)
        let events = try RemoteControlTests.request(log, "GET", "events", version: "1.0", until: limit)
        let status = try ChildProcess(
            "/usr/bin/playerctl", ["-p", "talkie", "--follow", "status"], environment: environment, keepsOutput: true)
        _ = fcntl(status.output, F_SETFL, O_NONBLOCK)
        (self.json, self.events, self.status) = (json, events, status)
    }

    private func send(_ text: String, over stream: LocalStream) {
        _ = Array(text.utf8).withUnsafeBytes { stream.send($0) }
    }

    private func readAll() {
        func add(_ name: String, _ received: TCPSocket.Received?) -> Bool {
            guard case .bytes(let count)? = received else { return false }
            texts[name, default: ""] += String(decoding: buffer[..<count], as: UTF8.self)
            return true
        }
        while add("json", json?.receiveNow(into: &buffer, limit: buffer.count)) {}
        while add("events", events?.receiveNow(into: &buffer, limit: buffer.count)) {}
        guard let status else { return }
        while true {
            let count = read(status.output, &buffer, buffer.count)
            if count <= 0 || !add("status", .bytes(count)) { return }
        }
    }

    /// Returns the observers that do not show a state.
    func others(than isPaused: Bool) -> [String] {
        readAll()
        /// The last of two texts is that of the state.
        func shows(_ name: String, _ paused: String, _ playing: String) -> Bool {
            let text = texts[name] ?? ""
            let last = [paused, playing].compactMap { text.range(of: $0, options: .backwards) }
                .max { $0.lowerBound < $1.lowerBound }
            return last.map { text[$0] == (isPaused ? paused : playing) } ?? false
        }
        var others: [String] = []
        let change = "\"event\":\"property-change\",\"id\":1,\"name\":\"pause\",\"data\":"
        if !shows("json", change + "true", change + "false") { others.append("JSON") }
        if !shows("events", "\"pause\":true", "\"pause\":false") { others.append("page") }
        if !shows("status", "Paused", "Playing") { others.append("playerctl") }
        let recorded = speaker.record.events
        let line = recorded.lastIndex { event in
            switch event {
            case .paused, .anchor: true
            default: false
            }
        }
        let isReported = recorded[(line ?? recorded.endIndex)...].contains {
            if case .progress = $0 { true } else { false }
        }
        if !isReported || (line.map { recorded[$0] == .paused } ?? false) != isPaused { others.append("speaker") }
        return others
    }

    /// Expects that all observers show a state soon after a command.
    func expect(
        _ isPaused: Bool, after command: String, since instant: HostInstant,
        at location: SourceLocation = #_sourceLocation
    ) {
        let limit = instant.advanced(by: .seconds(10))
        while !others(than: isPaused).isEmpty, HostInstant.now < limit {
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
        let elapsed = (HostInstant.now - instant).inSeconds * 1000
        #expect(
            Bounds.isNear(elapsed, claim: 300),
            "\(command): \(Int(elapsed)) ms; not shown by \(others(than: isPaused)): \(texts)",
            sourceLocation: location)
        print("\(command), paused \(isPaused): shown by all after \(Int(elapsed)) ms")
    }

    func wait(_ what: String, for condition: () -> Bool) throws {
        let limit = HostInstant.now.advanced(by: .seconds(20))
        while !condition() {
            try #require(HostInstant.now < limit, "\(what)")
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
    }

    // MARK: Commands

    /// Executes a command as a program of the desktop, a client of the socket, or a browser.
    func setPaused(_ isPaused: Bool, by controller: String) throws {
        let instant = HostInstant.now
        switch controller {
        case "playerctl":
            _ = try Program.run(
                "/usr/bin/playerctl", ["-p", "talkie", isPaused ? "pause" : "play"],
                environment: environment.mapValues { Optional($0) }, atMost: 10)
        case "JSON":
            send("{\"command\":[\"set_property\",\"pause\",\(isPaused)]}\n", over: try #require(json))
        default:
            let response = RemoteControlTests.browse(log, "POST", "command", body: "[\"set\",\"pause\",\(isPaused)]")
            #expect(response.starts(with: Data("HTTP/1.1 200 OK\r\n".utf8)))
        }
        expect(isPaused, after: controller, since: instant)
    }
}

/// Several controllers of one film.
@Suite(
    .serialized, .timeLimit(.minutes(2)), .repeatedWhenTheMachineStalls,
    .enabled(if: access("/usr/bin/playerctl", X_OK) == 0, "needs playerctl"))
struct ControllersTests {
    @Test func eachControllerPausesAFilmAndAllOthersAndTheSpeakerShowIt() throws {
        let film = try ControlledFilm(host: 45)
        let result = try film.play {
            try film.observe()
            for controller in ["playerctl", "JSON", "page"] {
                try film.setPaused(true, by: controller)
                try film.setPaused(false, by: controller)
            }
        }
        #expect(result.status == 143, "\(result.errors)")
    }

    @Test func aKeyOfTheSpeakerPausesAFilmAndAllControllersShowIt() throws {
        let film = try ControlledFilm(host: 46, quirks: "presses=1.5:paus")
        let result = try film.play {
            try film.observe()
            var press: HostInstant?
            try film.wait("a key press") {
                press = film.speaker.record.entries.first { $0.event == .pressed(command: "paus") }?.instant
                return press != nil
            }
            film.expect(true, after: "speaker", since: try #require(press))
        }
        #expect(result.status == 143, "\(result.errors)")
    }
}
