internal import CMicroHTTPD
internal import Glibc
import MediaCore
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

    private let isStopping: Lock<Bool>
    private let wake: PollableSignal
    private let thread: WorkerThread
    private let bound: Lock<UInt16?>

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - address: Port 0: chosen by the system.
    ///   - clock: The clock of `KioskHealth.moment`.
    ///   - timeout: The idle timeout of a connection, in whole seconds. Its total timeout is three times as long.
    ///   - tell: Called on the server's thread with sentences about a port in use, and about its later success.
    /// - Throws: `ExhaustionError` if the system provides no thread or descriptor.
    init(
        at address: MetricsAddress, clock: any HostClock = MonotonicClock(), timeout: Duration = .seconds(5),
        source: Source,
        tell: @escaping @Sendable (LogLevel, String) -> Void = { _, _ in }
    ) throws(ExhaustionError) {
        let (wake, isStopping, bound) = (try PollableSignal(), Lock(false), Lock<UInt16?>(nil))
        (self.wake, self.isStopping, self.bound) = (wake, isStopping, bound)
        thread = try WorkerThread.start(name: "metrics", priority: .background) {
            let handler = MetricsRequestHandler(source: source, clock: clock, timeout: timeout, wake: wake)
            Self.run(at: address, handler: handler, timeout: timeout, wake: wake, bound: bound, tell: tell) {
                isStopping.withLock { $0 }
            }
        }
    }

    /// The bound port; nil while there is none. Any thread.
    var port: UInt16? { bound.withLock { $0 } }

    /// Closes all connections and joins the thread.
    func stop() {
        isStopping.withLock { $0 = true }
        wake.raise()
        thread.join()
    }

    // MARK: Thread

    /// Scrapes arrive every quarter of a minute from one or two servers; manual requests are rare. Beyond this number
    /// the oldest connection is closed, so that idle clients do not block others.
    private static let maxConnections: Int32 = 32
    /// The delay before a port in use is retried.
    private static let retry = Duration.seconds(10)

    private static func run(
        at address: MetricsAddress, handler: MetricsRequestHandler, timeout: Duration, wake: PollableSignal,
        bound: Lock<UInt16?>,
        tell: (LogLevel, String) -> Void, isOver: () -> Bool
    ) {
        var isFailureReported = false
        while !isOver() {
            guard
                let (server, port) = open(
                    at: address, handler: handler, timeout: timeout,
                    complain: { if !isFailureReported { tell(.warning, $0) } })
            else {
                isFailureReported = true
                _ = wake.wait(until: .now.advanced(by: retry))
                continue
            }
            if isFailureReported { tell(.info, "Health is now served at \(address).") }
            bound.withLock { $0 = port }
            while !isOver() {
                chttp_serve(server)
                handler.answerHeldRequest()
                let due = chttp_due_ms(server)
                let deadline = due < 0 ? nil : HostInstant.now.advanced(by: .milliseconds(max(1, due)))
                _ = wake.wait(until: handler.next(before: deadline), orReadable: chttp_descriptor(server))
            }
            bound.withLock { $0 = nil }
            handler.giveUp()
            chttp_serve(server)
            chttp_close(server)
        }
    }

    private static func open(
        at address: MetricsAddress, handler: MetricsRequestHandler, timeout: Duration, complain: (String) -> Void
    ) -> (OpaquePointer, UInt16)? {
        func fail(_ reason: String) -> (OpaquePointer, UInt16)? {
            complain(
                "health cannot be served at \(address): \(reason); choose another address with [metrics] listen ="
                    + " \"127.0.0.1:PORT\" in the configuration; the kiosk continues without it")
            return nil
        }
        guard chttp_load() != 0 else {
            complain("health is not served at \(address): libmicrohttpd is missing; install libmicrohttpd12")
            return nil
        }
        do throws(SocketError) {
            let listener = try TCPListener(address: address.address, port: address.port)
            // The library closes its duplicate; the listener closes the original.
            let descriptor = fcntl(listener.descriptor, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else { return fail(SystemCause.text(errno)) }
            let context = Unmanaged.passUnretained(handler).toOpaque()
            guard
                let server = chttp_open(
                    descriptor, maxConnections, Int32(timeout.inMilliseconds),
                    { context, exchange, request in
                        guard let context, let exchange, let request else { return }
                        Unmanaged<MetricsRequestHandler>.fromOpaque(context).takeUnretainedValue().handle(
                            exchange, request.pointee)
                    }, context)
            else { return fail("out of memory") }
            return (server, listener.port)
        } catch  where error.code == .addressInUse {
            let holder = PortHolder.name(ofTCP: address.port).map { "\($0) has port \(address.port)" }
            return fail(holder ?? "port \(address.port) is in use by another program")
        } catch {
            return fail(error.message)
        }
    }
}

/// Handles requests. Used on the server's thread only.
private final class MetricsRequestHandler {
    private let source: MetricsServer.Source
    private let clock: any HostClock
    private let wake: PollableSignal
    /// The request that waits for a screenshot. One at a time, because images are large. The task that takes the
    /// screenshot writes `picture`; all else is used on the server's thread.
    private var held: (exchange: OpaquePointer, until: HostInstant, picture: Lock<Picture>)?

    private enum Picture: Sendable {
        case awaited
        case come([UInt8]?)
    }

    /// The timeout of a screenshot: a window without content may never draw one.
    private let timeout: Duration

    init(source: MetricsServer.Source, clock: any HostClock, timeout: Duration, wake: PollableSignal) {
        (self.source, self.clock, self.timeout, self.wake) = (source, clock, timeout, wake)
    }

    func handle(_ exchange: OpaquePointer, _ request: chttp_request) {
        let method = String(cString: request.method)
        let isRead = method == "GET" || method == "HEAD"
        switch (String(cString: request.path), isRead) {
        case ("/metrics", true):
            guard isNamedRightly(request) else {
                return answer(exchange, 403, "metrics are available only under an IP address or this computer's name\n")
            }
            answer(exchange, 200, MetricsText.metrics(source.health(), at: clock.now), type: MetricsText.type)
        case ("/healthz", true):
            let (status, text) = MetricsText.healthz(source.health(), at: clock.now)
            answer(exchange, status, text)
        case ("/screenshot.png", true): takePicture(exchange, request)
        case ("/metrics", false), ("/healthz", false), ("/screenshot.png", false):
            answer(exchange, 405, "only GET and HEAD are supported\n", allow: "GET, HEAD")
        default: answer(exchange, 404, "not found; available: /metrics, /healthz and /screenshot.png\n")
        }
    }

    private func takePicture(_ exchange: OpaquePointer, _ request: chttp_request) {
        guard request.is_local != 0, isNamedRightly(request) else {
            return answer(exchange, 403, "screenshots are available only from this computer\n")
        }
        guard held == nil else { return answer(exchange, 503, "another screenshot is being taken\n") }
        let picture = Lock(Picture.awaited)
        held = (exchange, .now.advanced(by: timeout), picture)
        chttp_hold(exchange)
        Task { [source, wake] in
            let bytes = await source.screenshot()
            picture.withLock { $0 = .come(bytes) }
            wake.raise()
        }
    }

    /// Returns false for a host name that a web page may have resolved to this computer (DNS rebinding).
    private func isNamedRightly(_ request: chttp_request) -> Bool {
        let host = request.host.map { String(cString: $0).lowercased() } ?? ""
        let name = host.split(separator: ":", omittingEmptySubsequences: false).first.map(String.init) ?? ""
        var bytes = [CChar](repeating: 0, count: 256)
        gethostname(&bytes, bytes.count - 1)
        let own = String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self).lowercased()
        return ["localhost", own, own + ".local"].contains(name) && !name.isEmpty || IPv4Address(name) != nil
    }

    /// Answers the waiting request if its screenshot is available or its timeout has passed.
    func answerHeldRequest() {
        guard let (exchange, until, picture) = held else { return }
        switch picture.withLock({ $0 }) {
        case .come(let bytes?):
            bytes.withUnsafeBufferPointer {
                chttp_answer(exchange, 200, "image/png", nil, $0.baseAddress, Int64($0.count))
            }
        case .come(nil): answer(exchange, 503, "no picture is shown on the screen\n")
        case .awaited:
            guard HostInstant.now >= until else { return }
            answer(exchange, 503, "the screen did not deliver a picture\n")
        }
        held = nil
        // The response is sent in the next iteration.
        wake.raise()
    }

    func next(before deadline: HostInstant?) -> HostInstant? {
        guard let held else { return deadline }
        return deadline.map { min($0, held.until) } ?? held.until
    }

    func giveUp() {
        if let held { answer(held.exchange, 503, "the kiosk is exiting\n") }
        held = nil
    }

    private func answer(
        _ exchange: OpaquePointer, _ status: Int, _ text: String, type: String = "text/plain; charset=utf-8",
        allow: String? = nil
    ) {
        let bytes = Array(text.utf8)
        chttp_answer(exchange, Int32(status), type, allow, bytes, Int64(bytes.count))
    }
}
