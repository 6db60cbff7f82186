internal import CMicroHTTPD
internal import Glibc
package import MediaCore
package import Sockets

/// Handles the requests of an HTTP server, on its thread.
package protocol HTTPHandler: AnyObject {
    /// Handles a request: answers it, holds it, or starts a stream.
    func handle(_ request: HTTPRequest, _ exchange: HTTPExchange)
    /// Handles the end of a stream, which is invalid from then on.
    func hasEnded(_ stream: HTTPExchange)
}

extension HTTPHandler {
    package func hasEnded(_ stream: HTTPExchange) {}
}

/// An HTTP server over libmicrohttpd. Confined to the thread that creates it, which calls `serve` and `wait` in turn
/// and `close` at the end.
///
/// Connections have one request each. Their number and duration are limited: beyond the maximum the oldest is closed,
/// so that idle clients do not block others.
package final class HTTPServer {
    private static let maxConnections: Int32 = 32

    private let server: OpaquePointer
    /// Receives the library's calls, which refer to it unretained.
    private let context: Context

    private final class Context {
        let handler: any HTTPHandler
        /// Whether requests are refused: the library ends the process if a request waits for its answer at the end.
        var isClosing = false

        init(_ handler: any HTTPHandler) { self.handler = handler }

        static func of(_ pointer: UnsafeMutableRawPointer) -> Context {
            Unmanaged<Context>.fromOpaque(pointer).takeUnretainedValue()
        }
    }

    /// Whether libmicrohttpd is installed; without it there is no server.
    package static var isAvailable: Bool { chttp_load() != 0 }

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - timeout: The idle timeout of a connection, in whole seconds. Its total timeout is three times as long.
    ///   - maxBodyBytes: The maximum size of a POST request's body; 0: POST has no body, as other methods.
    /// - Throws: `exhausted` or `unavailable`, with a part of a sentence.
    package init(
        on listener: TCPListener, timeout: Duration = .seconds(5), maxBodyBytes: Int = 0, handler: any HTTPHandler
    ) throws(SocketError) {
        guard Self.isAvailable else { throw SocketError(.unavailable, "libmicrohttpd is missing") }
        // The library closes its duplicate; the listener closes the original.
        let descriptor = fcntl(listener.descriptor, F_DUPFD_CLOEXEC, 3)
        guard descriptor >= 0 else { throw SocketError(.exhausted, SystemCause.text(errno)) }
        let context = Context(handler)
        var limits = chttp_limits(
            max_connections: Self.maxConnections, timeout_ms: Int32(timeout.inMilliseconds),
            max_body: Int64(maxBodyBytes))
        let server = chttp_open(
            descriptor, &limits,
            { context, exchange, request in
                guard let context, let exchange = exchange.map(HTTPExchange.init), let request else { return }
                guard !Context.of(context).isClosing else { return exchange.answer(503, "the program is exiting\n") }
                Context.of(context).handler.handle(HTTPRequest(request.pointee), exchange)
            },
            { context, exchange in
                guard let context, let exchange else { return }
                Context.of(context).handler.hasEnded(HTTPExchange(exchange))
            }, Unmanaged.passUnretained(context).toOpaque())
        guard let server else {
            Glibc.close(descriptor)
            throw SocketError(.exhausted, "out of memory")
        }
        (self.server, self.context) = (server, context)
    }

    /// Processes what has arrived, and sends what was answered.
    package func serve() { chttp_serve(server) }

    /// Waits until there is something to process, the signal is raised, or the deadline has passed.
    package func wait(for signal: PollableSignal, until deadline: HostInstant?) {
        let due = chttp_due_ms(server)
        var first = deadline
        if due >= 0 {
            let own = HostInstant.now.advanced(by: .milliseconds(max(1, due)))
            first = deadline.map { min($0, own) } ?? own
        }
        _ = signal.wait(until: first, orReadable: chttp_descriptor(server))
    }

    /// Closes all connections. All requests must have been answered and all streams ended; those that arrive now are
    /// refused. Called once, last.
    package func close() {
        context.isClosing = true
        serve()
        chttp_close(server)
    }
}
