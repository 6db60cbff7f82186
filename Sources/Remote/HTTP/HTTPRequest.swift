internal import CMicroHTTPD
internal import MediaCore
internal import Sockets

/// A request to an HTTP server.
package struct HTTPRequest {
    /// The method: `GET`.
    package let method: String
    /// The path without the query, decoded.
    package let path: String
    /// Whether the client is on this computer.
    package let isLocal: Bool
    /// The header field `Host`; empty without one.
    package let host: String
    /// The header field `Origin`; nil without one.
    package let origin: String?
    /// The header field `Sec-Fetch-Site`: the relation of the web page that requests; nil without one.
    package let fetchSite: String?
    /// The body of a POST request.
    package let body: [UInt8]
    /// Whether the body has more bytes than the server accepts; it was not read.
    package let isBodyTooLarge: Bool

    init(_ request: chttp_request) {
        method = String(cString: request.method)
        path = String(cString: request.path)
        isLocal = request.is_local != 0
        host = request.host.map { String(cString: $0) } ?? ""
        origin = request.origin.map { String(cString: $0) }
        fetchSite = request.fetch_site.map { String(cString: $0) }
        body = Array(UnsafeBufferPointer(start: request.body, count: Int(request.body_count)))
        isBodyTooLarge = request.is_body_too_large != 0
    }

    /// Whether the request reads.
    package var isRead: Bool { method == "GET" || method == "HEAD" }

    /// Whether the requested host is an IPv4 address or a name of this computer in the local network; false for a name
    /// that a web page may have resolved to this computer (DNS rebinding).
    ///
    /// The host name with any other domain is such a name: an attacker can register a domain and name its host alike,
    /// and DHCP can make that domain a search domain.
    package var namesThisComputer: Bool {
        let name = host.lowercased().prefix { $0 != ":" }
        return name == "localhost" || NetworkAddress(String(name))?.isIPv4 ?? false
            || LocalAddresses.names().contains(String(name))
    }

    /// Whether the request comes from a page of this server, or from no web page (RFC 6454, section 7). An image that
    /// another page shows has no `Origin`, but is marked by the browser as `cross-site` or `same-site`.
    package var isOfOwnPage: Bool {
        if let fetchSite, !["same-origin", "none"].contains(fetchSite.lowercased()) { return false }
        return origin.map { $0.lowercased() == "http://" + host.lowercased() } ?? true
    }
}

/// A request and its response. Used on the server's thread only; valid until it is answered or, for a stream, has
/// ended.
package struct HTTPExchange: Hashable {
    private let exchange: OpaquePointer

    init(_ exchange: OpaquePointer) { self.exchange = exchange }

    /// Answers the request.
    ///
    /// - Parameter allow: The header field `Allow`; nil: none.
    package func answer(_ status: Int, _ type: String, _ bytes: [UInt8], allow: String? = nil) {
        chttp_answer(exchange, Int32(status), type, allow, bytes, Int64(bytes.count))
    }

    /// Answers the request with text.
    package func answer(
        _ status: Int, _ text: String, type: String = "text/plain; charset=utf-8", allow: String? = nil
    ) {
        answer(status, type, Array(text.utf8), allow: allow)
    }

    /// Defers the answer.
    package func hold() { chttp_hold(exchange) }

    /// Starts a response that `send` continues. Returns false if out of memory.
    package func startStream(_ type: String) -> Bool { chttp_stream(exchange, type) != 0 }

    /// Queues bytes of a stream. Returns false, and queues nothing, if more than `maxQueued` bytes would wait.
    package func send(_ bytes: [UInt8], maxQueued: Int) -> Bool {
        chttp_send(exchange, bytes, Int64(bytes.count), Int64(maxQueued)) != 0
    }

    /// Ends a stream; queued bytes are discarded.
    package func end() { chttp_end(exchange) }
}
