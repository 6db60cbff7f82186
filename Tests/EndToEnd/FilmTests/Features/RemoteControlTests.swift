import Foundation
import MediaCore
import PythonPackages
import Sockets
import TalkieTestKit
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// Other programs that control a film on a screen and a sound card.
@Suite(
    .serialized, .timeLimit(.minutes(5)), .repeatedWhenTheMachineStalls,
    .enabled(
        if: PulseServer.isWanted && VirtualDisplay.isWanted, "needs Xvfb, pulseaudio, python3 and ALSA's pulse plugin"))
struct RemoteControlTests {
    typealias Setup = ObservedPlayback.Setup
    private let films: FeatureFilms
    init() throws { films = try FeatureFilms() }

    /// Sends requests and waits for the reply to the last one. Returns all lines.
    private static func exchange(_ path: String, _ requests: String...) -> String {
        guard let stream = LocalStream.connect(to: path) else { return "not connected" }
        let text = Array(requests.map { "{\"command\":\($0)}\n" }.joined().utf8)
        _ = text.withUnsafeBytes { stream.send($0) }
        stream.finish()
        var (lines, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        let limit = HostInstant.now.advanced(by: .seconds(10))
        while HostInstant.now < limit {
            switch stream.receiveNow(into: &buffer, limit: buffer.count) {
            case .bytes(let count): lines += buffer[..<count]
            case .nothing: _ = Poller.wait(reading: [stream.descriptor], until: limit)
            case .ended: return String(decoding: lines, as: UTF8.self)
            }
        }
        return String(decoding: lines, as: UTF8.self) + "no end"
    }

    // feature: --input-ipc-server
    @Test func anotherProgramPausesAFilmAndContinuesIt() throws {
        let (film, path) = (try films.film(), films.scratch.path("socket"))
        let answers = Lock<[String]>([])
        var setup = Setup("--input-ipc-server", path, "--end", "3.6", film)
        setup.isOver = { playback in
            guard let last = playback.seen.last, last.second == 1 else { return false }
            let count = answers.withLock { $0.count }
            if count == 0 || (count == 1 && last.to - last.from > 2) {
                let answer = Self.exchange(
                    path, "[\"set_property\",\"pause\",\(count == 0)]", "[\"get_property\",\"pause\"]")
                answers.withLock { $0.append(answer) }
            }
            return false
        }
        let runs = try ObservedPlayback.play([setup])
        runs[0].expect(seconds: [0, 1, 2, 3])
        #expect(
            answers.withLock { $0 }
                == [true, false].map {
                    "{\"data\":null,\"request_id\":0,\"error\":\"success\"}\n"
                        + "{\"data\":\($0),\"request_id\":0,\"error\":\"success\"}\n"
                })
        let (seen, heard) = (runs[0].seen, runs[0].heard())
        #expect(seen.count > 1 && seen[1].to - seen[1].from > 2 && heard.count > 2)
        // The pause can precede the tone of its second; without it, these are two seconds.
        if heard.count > 2 { #expect(heard[2].from - heard[0].from > 3, "the sound waits too") }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    /// The link to the page, from the log.
    private static func link(_ log: String) -> (path: String, port: UInt16)? {
        // ignored: without a link the answers are empty, which the test reports.
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        guard let start = text.range(of: "http://127.0.0.1:")?.upperBound else { return nil }
        let parts = text[start...].prefix { !$0.isWhitespace }.split(separator: "/")
        guard parts.count > 1, let port = UInt16(parts[0]) else { return nil }
        return ("/\(parts[1])/", port)
    }

    /// Sends a request of a browser. Returns the connection.
    static func request(
        _ log: String, _ method: String, _ name: String, body: String = "", version: String = "1.1",
        until limit: HostInstant
    ) throws -> TCPSocket {
        let (path, port) = try #require(link(log), "no link")
        let text = """
            \(method) \(path)\(name) HTTP/\(version)\r
            Host: 127.0.0.1:\(port)\r
            Origin: http://127.0.0.1:\(port)\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """
        let socket = try TCPSocket.connect(to: NetworkAddress.loopback, port: port, deadline: limit)
        try socket.sendAll(Array(text.utf8), deadline: limit)
        return socket
    }

    /// Sends a request of a browser. Returns the response.
    static func browse(_ log: String, _ method: String, _ name: String, body: String = "") -> Data {
        let limit = HostInstant.now.advanced(by: .seconds(10))
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        // ignored: the test reports a response that is missing or incomplete.
        guard let socket = try? request(log, method, name, body: body, until: limit) else { return Data() }
        // ignored: same.
        while let count = try? socket.receive(into: &buffer, deadline: limit), count > 0 { bytes += buffer[..<count] }
        return Data(bytes)
    }

    // feature: --remote
    @Test func aPhonePausesAFilmAndContinuesIt() throws {
        let (film, log, port) = (try films.film(), films.scratch.path("log"), try ReservedPort())
        let answers = Lock<[Data]>([])
        let page = Lock<[Data]>([])
        var setup = Setup(
            "--remote", "127.0.0.1:\(port.number)", "--log-file", log, "--end", "3.6", film)
        setup.isOver = { playback in
            guard let last = playback.seen.last, last.second == 1 else { return false }
            let count = answers.withLock { $0.count }
            if count == 0 || (count == 1 && last.to - last.from > 2) {
                let answer = Self.browse(log, "POST", "command", body: "[\"set\",\"pause\",\(count == 0)]")
                if count == 0 { page.withLock { $0 = ["", "screenshot.png"].map { Self.browse(log, "GET", $0) } } }
                answers.withLock { $0.append(answer) }
            }
            return false
        }
        let runs = try ObservedPlayback.play([setup])
        runs[0].expect(seconds: [0, 1, 2, 3])
        for answer in answers.withLock({ $0 }) {
            let text = String(decoding: answer, as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.hasSuffix("\r\n\r\n{\"data\":null}"), "\(text)")
        }
        let (seen, heard) = (runs[0].seen, runs[0].heard())
        #expect(seen.count > 1 && seen[1].to - seen[1].from > 2 && heard.count > 2)
        if heard.count > 2 { #expect(heard[2].from - heard[0].from > 3, "the sound waits too") }
        let pages = page.withLock { $0 }
        #expect(pages.count == 2 && pages.allSatisfy { $0.starts(with: Data("HTTP/1.1 200 OK\r\n".utf8)) })
        #expect(pages.first?.range(of: Data("<title>Talkie</title>".utf8)) != nil)
        #expect(pages.last?.range(of: Data([0x89, 0x50, 0x4E, 0x47])) != nil, "a PNG of the screen")
        #expect(runs[0].result.errors.contains("http://127.0.0.1:\(port.number)/"))
    }

    @Test func otherProgramsOfTheDesktopShowAnImageOfTheFilm() throws {
        let folder = films.scratch.folder
        let (bus, address) = try SessionBus.start(at: films.scratch.path("bus"))
        defer { bus.end() }
        var setup = Setup(try films.film())
        setup.environment = ["DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": folder.path]
        let image = Lock<(path: String, bytes: Data?)?>(nil)
        setup.isOver = { playback in
            guard playback.looks.last?.second != nil,
                let metadata = try? Program.run(
                    "/usr/bin/gdbus",
                    [
                        "call", "--address", address, "--dest", "org.mpris.MediaPlayer2.talkie", "--object-path",
                        "/org/mpris/MediaPlayer2", "--method", "org.freedesktop.DBus.Properties.Get",
                        "org.mpris.MediaPlayer2.Player", "Metadata",
                    ], atMost: 5
                ).output,
                let match = metadata.firstMatch(of: /'mpris:artUrl': <'file:\/\/([^']*)'>/)
            else { return false }
            let path = String(match.1)
            image.withLock { $0 = (path, FileManager.default.contents(atPath: path)) }
            return true
        }
        let runs = try ObservedPlayback.play([setup])
        let found = try #require(image.withLock { $0 }, "\(runs[0].result.errors)")
        #expect(found.path.hasPrefix(folder.path))
        #expect(found.bytes?.starts(with: [0xFF, 0xD8, 0xFF]) == true, "a frame of the film as JPEG")
        #expect(!FileManager.default.fileExists(atPath: found.path), "removed with the program")
    }
}

/// A message bus for one test.
enum SessionBus {
    /// Starts a bus with a socket. Returns its process and address.
    static func start(at path: String) throws -> (daemon: ChildProcess, address: String) {
        let address = "unix:path=\(path)"
        let daemon = try ChildProcess("/usr/bin/dbus-daemon", ["--session", "--nofork", "--address=\(address)"])
        let deadline = Date(timeIntervalSinceNow: 10)
        while !FileManager.default.fileExists(atPath: path), Date() < deadline { usleep(10_000) }
        return (daemon, address)
    }
}

/// True if the client is available. With `CI=true` its test runs and fails without it; elsewhere it is skipped.
private let hasPythonClient: Bool = {
    if ProcessInfo.processInfo.environment["CI"] == "true" { return true }
    do {
        _ = try ForeignClientTests.python()
        return true
    } catch {
        print("python-mpv-jsonipc cannot be installed here, its test is left out: \(error)")
        return false
    }
}()

/// A client of mpv's JSON interface that has nothing to do with this project. In a lane with a network, which installs
/// it.
@Suite(
    .serialized, .timeLimit(.minutes(5)), .repeatedWhenTheMachineStalls, .enabled(if: hasPythonClient),
    .enabled(
        if: PulseServer.isWanted && VirtualDisplay.isWanted, "needs Xvfb, pulseaudio, python3 and ALSA's pulse plugin"))
struct ForeignClientTests {
    typealias Setup = ObservedPlayback.Setup
    private let films: FeatureFilms
    init() throws { films = try FeatureFilms() }

    private static func beside(_ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name)
    }

    static func python() throws -> String {
        try PythonPackages.python("mpv-client", requirements: beside("mpv-client-requirements.txt"))
    }

    /// The client is that of PyPI, unchanged: it requests the lists of commands and properties, observes, and executes
    /// commands as methods.
    @Test func aForeignClientDrivesAFilm() throws {
        let (film, path) = (try films.film(), films.scratch.path("socket"))
        let client = Lock<Process?>(nil)
        let (interpreter, output) = (try Self.python(), Pipe())
        var setup = Setup("--input-ipc-server", path, film)
        setup.isOver = { playback in
            if let process = client.withLock({ $0 }) { return !process.isRunning }
            // The client waits for second 1 itself: its interpreter may take a second to start.
            guard playback.seen.last?.second == 0 else { return false }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: interpreter)
            process.arguments = [Self.beside("mpv-client.py").path, path]
            process.standardOutput = output
            // ignored: without a client the output is empty, which the test reports.
            try? process.run()
            client.withLock { $0 = process }
            return false
        }
        let runs = try ObservedPlayback.play([setup])
        try output.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let found = try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any],
            "\(text) \(runs[0].result.errors)")
        #expect(found["pause"] as? [Bool] == [false, true, false])
        #expect(found["events"] as? [String] == ["seek", "playback-restart"])
        #expect(found["filename"] as? String == "film.mkv" && found["duration"] as? Double == 6)
        #expect(found["tracks"] as? [String] == ["video", "video", "audio", "audio"])
        #expect(found["position"] as? Double == 4)
        #expect((found["volume"] as? Double).map { abs($0 - 40) < 0.01 } == true, "\(text)")
        #expect(found["refused"] as? String == "invalid parameter")
        let perceived = [runs[0].seen, runs[0].heard()].map { $0.map(\.second) }
        #expect(perceived.allSatisfy { $0 == [0, 1, 4, 5] }, "\(perceived)")
    }
}
