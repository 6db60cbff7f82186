import Foundation
import Glibc
import MediaCore
import PythonPackages
import Remote
import ServiceSupervisor
import Sockets
import SyncRendering
import Testing

@testable import Kiosk

/// True if prometheus-client is available. With `CI=true` the tests run and fail without it; elsewhere the test is
/// skipped.
private let hasPrometheus: Bool = {
    if ProcessInfo.processInfo.environment["CI"] == "true" { return true }
    do {
        _ = try Prometheus.python()
        return true
    } catch {
        print("prometheus-client cannot be installed here, its test is left out: \(error)")
        return false
    }
}()

private enum Prometheus {
    static func beside(_ name: String) -> URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name)
    }

    static func python() throws -> String {
        try PythonPackages.python("prometheus", requirements: beside("prometheus-requirements.txt"))
    }

    struct Reading: Decodable {
        var samples: [String: Double]
        var kinds: [String: String]
    }

    static func read(_ text: String) throws -> Reading {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("metrics-\(UUID().uuidString)")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try PythonPackages.run(try python(), [beside("read-metrics.py").path, file.path])
        return try JSONDecoder().decode(Reading.self, from: output)
    }
}

/// The server on loopback, accessed by sockets.
@Suite(.serialized, .timeLimit(.minutes(2))) struct MetricsServerTests {
    private static let loopback = NetworkAddress.loopback

    private static func health() -> KioskHealth {
        var health = KioskHealth(
            at: .now, shown: .playing, uptime: .seconds(60),
            configuration: .init(loaded: WallTime(seconds: 1_700_000_000)))
        health.offset = .microseconds(-1250)
        (health.frames, health.dropped) = (1440, 2)
        var hall = KioskHealth.Output("Hall \"A\\B\"\nnext")
        (hall.buffered, hall.underruns, hall.clock) = (.seconds(1.5), 2, .ready)
        health.outputs = [hall, KioskHealth.Output("Foyer"), KioskHealth.Output("Foyer")]
        health.repairs = ["re-anchor": 1]
        health.item = .init("é.mp4", index: 3, began: WallTime(seconds: 1_700_000_100))
        return health
    }

    private func serving(
        _ health: @escaping @Sendable () -> KioskHealth = { Self.health() },
        screenshot: @escaping @Sendable () async -> [UInt8]? = { nil }, timeout: Duration = .seconds(1),
        _ body: (UInt16) async throws -> Void
    ) async throws {
        let server = try MetricsServer(
            at: HTTPAddress(address: Self.loopback, port: 0), timeout: timeout,
            source: .init(health: health, screenshot: screenshot))
        defer { server.stop() }
        let deadline = HostInstant.now.advanced(by: .seconds(10))
        while server.port == nil, HostInstant.now < deadline { HostInstant.now.advanced(by: .milliseconds(2)).sleep() }
        try await body(try #require(server.port))
    }

    /// A load balancer may use any name; a web page with DNS rebinding learns no more than the status.
    @Test func healthIsAnsweredWithItsStatusAndUnderOtherNamesWithThatOnly() async throws {
        let shown = Lock(KioskHealth.Shown.playing)
        try await serving({
            var health = Self.health()
            health.shown = shown.withLock { $0 }
            return health
        }) { port in
            func check(_ path: String, _ status: Int, _ text: String, underOtherNames bare: String) throws {
                let (own, other) = (
                    try Loopback.request(path, port), try Loopback.request(path, port, host: "evil.example")
                )
                #expect(own.status == status && own.text == text)
                #expect(other.status == status && other.text == bare)
            }
            try check("/healthz", 200, "ok playing 'é.mp4'\n", underOtherNames: "ok\n")
            shown.withLock { $0 = .off("quiet hours until 07:00") }
            try check(
                "/healthz?verbose=1", 200, "ok off on purpose: quiet hours until 07:00\n", underOtherNames: "ok\n")
            shown.withLock { $0 = .nothing("the list is empty") }
            try check("/healthz", 503, "nothing to show: the list is empty\n", underOtherNames: "unhealthy\n")
        }
    }

    @Test func anotherWebPageGetsNoImageOfTheScreen() async throws {
        try await serving(screenshot: { [1] }) { port in
            for field in ["Origin: http://evil.example", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site"] {
                let refused = try Loopback.request("/screenshot.png", port, more: field + "\r\n")
                #expect(refused.status == 403, "\(field)")
            }
            let own = try Loopback.request("/screenshot.png", port, more: "Sec-Fetch-Site: none\r\n")
            #expect(own.status == 200)
        }
    }

    @Test func metricsAreServedInTheirFormat() async throws {
        try await serving { port in
            let answer = try Loopback.request("/metrics", port)
            #expect(answer.status == 200)
            #expect(answer.head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"))
            #expect(answer.text.contains("talkie_av_offset_seconds -0.00125\n"))
            let head = try Loopback.request("/metrics", port, method: "HEAD")
            #expect(head.status == 200 && head.body.isEmpty && head.head.contains("Content-Length:"))
        }
    }

    @Test(.enabled(if: hasPrometheus)) func prometheusReadsWhatIsServed() async throws {
        try await serving { port in
            let reading = try Prometheus.read(try Loopback.request("/metrics", port).text)
            #expect(reading.samples["talkie_av_offset_seconds"] == -0.00125)
            #expect(reading.samples["talkie_pictures_total"] == 1440)
            #expect(reading.samples["talkie_output_buffer_seconds|output=Hall \"A\\B\"\nnext"] == 1.5)
            #expect(reading.samples["talkie_output_connected|output=Foyer (2)"] == 1)
            #expect(reading.samples["talkie_output_clock|output=Hall \"A\\B\"\nnext|state=ready"] == 1)
            #expect(reading.samples["talkie_item_info|name=é.mp4"] == 1)
            #expect(reading.samples["talkie_repairs_total|stage=re-anchor"] == 1)
            #expect(reading.kinds["talkie_pictures"] == "counter" && reading.kinds["talkie_healthy"] == "gauge")
            #expect(!reading.kinds.values.contains("unknown") && !reading.kinds.values.contains("untyped"))
        }
    }

    @Test func otherPathsAndMethodsAreRefused() async throws {
        try await serving { port in
            #expect(try Loopback.request("/", port).status == 404)
            #expect(try Loopback.request("/metrics/../etc/passwd", port).status == 404)
            let post = try Loopback.request("/metrics", port, method: "POST", more: "Content-Length: 100000000\r\n")
            #expect(post.status == 405 && post.head.contains("Allow: GET, HEAD"))
            #expect(try Loopback.request("/healthz", port, method: "DELETE").status == 405)
            #expect(try Loopback.request("/" + String(repeating: "x", count: 100_000), port).status >= 400)
            #expect(
                try Loopback.request("/metrics", port, more: "A: \(String(repeating: "x", count: 100_000))\r\n").status
                    >= 400)
            #expect(try Loopback.request("/healthz", port).status == 200, "it goes on serving")
        }
    }

    @Test func nonsenseEndsItsOwnConnectionOnly() async throws {
        try await serving { port in
            for text in [
                "\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n", "GET /metrics HTTP/9.9\r\n\r\n",
            ] {
                let descriptor = try Loopback.connect(port)
                Loopback.send(text, on: descriptor)
                shutdown(descriptor, Int32(SHUT_WR))
                _ = Loopback.receive(descriptor)
                close(descriptor)
            }
            #expect(try Loopback.request("/healthz", port).status == 200)
        }
    }

    @Test func silentConnectionsDoNotBlockOthers() async throws {
        try await serving { port in
            // More than the 32 that are kept: the oldest are closed at once, the others by their timeout.
            let silent = try (0..<40).map { _ in try Loopback.connect(port) }
            defer { silent.forEach { close($0) } }
            for descriptor in silent { Loopback.send("GET /metr", on: descriptor) }
            #expect(try Loopback.request("/healthz", port).status == 200)
            for descriptor in silent { #expect(Loopback.receive(descriptor).isEmpty) }
            #expect(try Loopback.request("/healthz", port).status == 200)
        }
    }

    /// The supervisor polls every few seconds; no response within one second counts as unhealthy.
    @Test func theSupervisorIsAnsweredAtOnceWhateverOtherClientsDo() async throws {
        try await serving(timeout: .seconds(60)) { port in
            var others: [Int32] = []
            defer { others.forEach { close($0) } }
            for text in ["", "GET /healthz HTTP/1.1\r\nX: "] {
                for _ in 0..<50 {
                    let descriptor = try Loopback.connect(port)
                    others.append(descriptor)
                    Loopback.send(text, on: descriptor)
                }
                let start = HostInstant.now
                #expect(try Loopback.request("/healthz", port).status == 200)
                // The other clients have a minute.
                #expect(HostInstant.now - start < .milliseconds(900))
            }
        }
    }

    @Test func metricsAreServedUnderAddressesAndThisComputersNamesOnly() async throws {
        try await serving { port in
            for host in ["127.0.0.1:9595", "LocalHost", ProcessInfo.processInfo.hostName.uppercased()] {
                let answer = try Loopback.request("/metrics", port, host: host)
                #expect(answer.status == 200, "\(host)")
            }
            #expect(try Loopback.request("/metrics", port, host: "evil.example").status == 403)
            #expect(
                try Loopback.request("/screenshot.png", port, host: "LOCALHOST").status == 503,
                "no picture, but no refusal")
        }
    }

    @Test func aByteNowAndThenBuysNoTime() async throws {
        try await serving { port in
            let slow = try Loopback.connect(port)
            defer { close(slow) }
            let start = HostInstant.now
            Loopback.send("GET /healthz HTTP/1.1\r\nX: ", on: slow)
            var event = pollfd(fd: slow, events: Int16(POLLIN), revents: 0)
            while poll(&event, 1, 200) == 0, HostInstant.now - start < .seconds(20) { Loopback.send("x", on: slow) }
            #expect(HostInstant.now - start < .seconds(10))
        }
    }

    @Test func thePictureOfTheScreenIsServedToThisComputer() async throws {
        let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47] + (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try await serving(screenshot: { picture }) { port in
            let answer = try Loopback.request("/screenshot.png", port)
            #expect(answer.status == 200 && answer.head.contains("Content-Type: image/png") && answer.body == picture)
            #expect(try Loopback.request("/screenshot.png", port, host: "localhost:9595").status == 200)
            // DNS rebinding: a web page whose host name resolves to this address.
            #expect(try Loopback.request("/screenshot.png", port, host: "evil.example").status == 403)
            #expect(try Loopback.request("/screenshot.png", port, method: "POST").status == 405)
        }
        try await serving { port in
            let answer = try Loopback.request("/screenshot.png", port)
            #expect(answer.status == 503)
        }
    }

    @Test func aScreenWithoutAPictureDoesNotBlockRequests() async throws {
        let gate = AsyncStream<Void>.makeStream()
        try await serving(screenshot: {
            for await _ in gate.stream { break }
            return nil
        }) { port in
            let waiting = try Loopback.connect(port)
            defer { close(waiting) }
            Loopback.send("GET /screenshot.png HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", on: waiting)
            #expect(try Loopback.request("/healthz", port).status == 200)
            #expect(try Loopback.request("/screenshot.png", port).status == 503, "one at a time")
            #expect(String(decoding: Loopback.receive(waiting), as: UTF8.self).contains("503"))
            gate.continuation.finish()
        }
    }

    @Test func aStoppedServerAnswersHeldRequests() async throws {
        let gate = AsyncStream<Void>.makeStream()
        var waiting: Int32 = -1
        try await serving(screenshot: {
            for await _ in gate.stream { break }
            return nil
        }) { port in
            waiting = try Loopback.connect(port)
            Loopback.send("GET /screenshot.png HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", on: waiting)
            #expect(try Loopback.request("/healthz", port).status == 200)
        }
        _ = Loopback.receive(waiting)
        close(waiting)
        gate.continuation.finish()
    }

    @Test func aPortInUseIsReportedWithItsHolderAndTheKioskContinues() async throws {
        let taken = try TCPListener(address: Self.loopback)
        let messages = Lock<[String]>([])
        let heard = Signal()
        let server = try MetricsServer(
            at: HTTPAddress(address: Self.loopback, port: taken.port), source: .init(health: { Self.health() })
        ) { level, text in
            messages.withLock { $0.append("\(level): \(text)") }
            heard.raise()
        }
        #expect(heard.wait(until: .now.advanced(by: .seconds(10))))
        server.stop()
        let sentences = messages.withLock { $0 }
        #expect(sentences.count == 1 && server.port == nil)
        #expect(sentences[0].contains("(\(getpid())) has port \(taken.port)"), "\(sentences)")
    }
}
