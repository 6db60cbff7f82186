import MediaCore
import Remote
internal import Sockets

/// An HTTP server for the health of a kiosk: `/metrics` (Prometheus), `/healthz`, and `/screenshot.png` for clients on
/// this computer only.
///
/// All requests are handled on the thread "metrics"; the kiosk's thread only publishes values. The number and the
/// duration of connections are limited. A port in use is reported once and retried; the kiosk continues.
final class MetricsServer: Sendable {
    /// The functions that provide responses.
    struct Source: Sendable {
        /// Returns the health published last. Called on the server's thread; must not block.
        var health: @Sendable () -> KioskHealth
        /// Captures the screen as a PNG; nil without an image.
        var screenshot: @Sendable () async -> [UInt8]?

        init(
            health: @escaping @Sendable () -> KioskHealth,
            screenshot: @escaping @Sendable () async -> [UInt8]? = { nil }
        ) {
            (self.health, self.screenshot) = (health, screenshot)
        }
    }

    private let thread: PollingThread
    private let bound: Lock<UInt16?>

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - address: Port 0: chosen by the system.
    ///   - clock: The clock of `KioskHealth.moment`.
    ///   - timeout: The idle timeout of a connection, in whole seconds. Its total timeout is three times as long.
    ///   - report: Called on the server's thread with sentences about a port in use, and about its later success.
    /// - Throws: `ExhaustionError` if the system provides no thread or descriptor.
    init(
        at address: HTTPAddress, clock: any HostClock = MonotonicClock(), timeout: Duration = .seconds(5),
        source: Source,
        report: @escaping @Sendable (LogLevel, String) -> Void = { _, _ in }
    ) throws(ExhaustionError) {
        let (thread, bound) = (try PollingThread(name: "metrics", priority: .background), Lock<UInt16?>(nil))
        (self.thread, self.bound) = (thread, bound)
        try thread.start {
            let handler = MetricsRequestHandler(source: source, clock: clock, timeout: timeout, wake: thread.wake)
            Self.run(on: thread, at: address, handler: handler, timeout: timeout, bound: bound, report: report)
        }
    }

    /// The bound port; nil while there is none. Any thread.
    var port: UInt16? { bound.withLock { $0 } }

    /// Closes all connections and joins the thread.
    func stop() { thread.stop() }

    // MARK: Thread

    /// The delay before a port in use is retried.
    private static let retry = Duration.seconds(10)

    private static func run(
        on thread: PollingThread, at address: HTTPAddress, handler: MetricsRequestHandler, timeout: Duration,
        bound: Lock<UInt16?>, report: (LogLevel, String) -> Void
    ) {
        var isFailureReported = false
        while !thread.isStopping {
            guard
                let (server, port) = open(
                    at: address, handler: handler, timeout: timeout,
                    complain: { if !isFailureReported { report(.warning, $0) } })
            else {
                isFailureReported = true
                _ = thread.wake.wait(until: .now.advanced(by: retry))
                continue
            }
            if isFailureReported { report(.info, "Health is now served at \(address).") }
            bound.withLock { $0 = port }
            while !thread.isStopping {
                handler.screenshots.proceed()
                server.serve()
                server.wait(for: thread.wake, until: handler.screenshots.deadline)
            }
            bound.withLock { $0 = nil }
            handler.screenshots.cancelRequest()
            server.close()
        }
    }

    private static func open(
        at address: HTTPAddress, handler: MetricsRequestHandler, timeout: Duration, complain: (String) -> Void
    ) -> (HTTPServer, UInt16)? {
        func fail(_ reason: String) -> (HTTPServer, UInt16)? {
            complain(
                "health cannot be served at \(address): \(reason); choose another address with [metrics] listen ="
                    + " \"127.0.0.1:PORT\" in the configuration; the kiosk continues without it")
            return nil
        }
        guard HTTPServer.isAvailable else {
            complain("health is not served at \(address): libmicrohttpd is missing; install libmicrohttpd12")
            return nil
        }
        do throws(SocketError) {
            let listener = try TCPListener(address: address.address, port: address.port)
            return (try HTTPServer(on: listener, timeout: timeout, handler: handler), listener.port)
        } catch  where error.code == .addressInUse {
            let holder = PortHolder.name(ofTCP: address.port).map { "\($0) has port \(address.port)" }
            return fail(holder ?? "port \(address.port) is in use by another program")
        } catch {
            return fail(error.message)
        }
    }
}

/// Handles requests. Used on the server's thread only.
private final class MetricsRequestHandler: HTTPHandler {
    private let source: MetricsServer.Source
    private let clock: any HostClock
    let screenshots: HTTPScreenshots

    init(source: MetricsServer.Source, clock: any HostClock, timeout: Duration, wake: PollableSignal) {
        (self.source, self.clock) = (source, clock)
        screenshots = HTTPScreenshots(timeout: timeout, wake: wake, capture: source.screenshot)
    }

    func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        switch (request.path, request.isRead) {
        case ("/metrics", true):
            guard request.namesThisComputer else {
                return exchange.answer(
                    403, "metrics are available only under an IP address or this computer's name\n")
            }
            exchange.answer(200, MetricsText.metrics(source.health(), at: clock.now), type: MetricsText.type)
        case ("/healthz", true):
            let (status, text) = MetricsText.healthz(source.health(), at: clock.now)
            // A load balancer may use any name. A web page must not learn what plays or fails (DNS rebinding).
            exchange.answer(status, request.namesThisComputer ? text : status == 200 ? "ok\n" : "unhealthy\n")
        case ("/screenshot.png", true):
            guard request.isOfOwnPage else {
                return exchange.answer(403, "requests of other web pages are refused\n")
            }
            guard request.isLocal, request.namesThisComputer else {
                return exchange.answer(403, "screenshots are available only from this computer\n")
            }
            screenshots.answer(exchange)
        case ("/metrics", false), ("/healthz", false), ("/screenshot.png", false):
            exchange.answer(405, "only GET and HEAD are supported\n", allow: "GET, HEAD")
        default: exchange.answer(404, "not found; available: /metrics, /healthz and /screenshot.png\n")
        }
    }
}
