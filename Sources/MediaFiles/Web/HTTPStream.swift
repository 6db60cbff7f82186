internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Bytes of a web server for libavformat; seekable if the server supports ranges.
protocol WebBytes: AnyObject {
    var isSeekable: Bool { get }
    /// The position of the next byte, and the number of bytes; `length` is nil if the server does not state it.
    var offset: Int64 { get }
    var length: Int64? { get }
    /// Reads bytes; blocks.
    ///
    /// - Returns: Their number, `cff_error_eof` at the end, or another libavutil error.
    func read(into target: UnsafeMutableBufferPointer<UInt8>) -> Int32
    /// Moves the position without a request.
    ///
    /// - Returns: The new offset, or a libavutil error.
    func seek(to wanted: Int64) -> Int64
}

/// Reads one HTTP resource with range requests, for libavformat.
///
/// libavformat's own client forwards every header field to redirect targets. This one sends secrets only to their
/// server, follows no redirect from `https` to `http`, and resumes interrupted transfers.
///
/// `@unchecked Sendable`: used only on the thread that uses the demuxer.
final class HTTPStream: WebBytes, @unchecked Sendable {
    typealias Connect = (WebAddress) throws(WebFailure) -> any WebConnection

    private let requestBuilder: HTTPRequestBuilder
    private let waiting: InterruptCallback
    private let connect: Connect
    /// The idle connections of the demuxer; nil: each request has its own connection.
    private let pool: ConnectionPool?
    /// The URL before redirects.
    private let requested: WebAddress
    /// The URL of the last response.
    private(set) var address: WebAddress
    /// The byte range: its first byte, and the byte after its last one (nil: to the end).
    private let first: Int64
    private let last: Int64?

    private(set) var size: Int64?
    private(set) var isSeekable = false
    private(set) var contentType: String?
    private var validator: String?
    private var position: Int64
    private var connection: (any WebConnection)?
    /// The position of the connection.
    private var connectionPosition: Int64 = 0
    private var body: WebBody?
    /// Whether `connection` may be used again after the body.
    private var isPersistent = false
    private var received: ArraySlice<UInt8> = []
    /// Whether a byte of the response to the last request was received.
    private var hasResponse = false
    /// Whether interrupted transfers are resumed; otherwise `read` returns the error.
    var retries = true

    /// The maximum number of redirects, same as in libavformat.
    private static let maxRedirects = 8
    /// The distance ahead in bytes up to which data are read through: a new connection takes longer.
    static let shortWay: Int64 = 256 << 10
    private static let bufferSize = 32 << 10

    /// Opens a URL and reads the response header; blocks.
    ///
    /// - Parameters:
    ///   - range: The byte range stated by a playlist.
    ///   - retriesServerErrors: Whether server errors are retried.
    ///   - pool: The idle connections of the demuxer; nil: each request has its own connection.
    /// - Throws: A libavutil error; EINVAL for a range beyond `InputLimit.maxBytes`.
    init(
        _ address: WebAddress, requestBuilder: HTTPRequestBuilder, range: (first: Int64, last: Int64?) = (0, nil),
        retriesServerErrors: Bool = false, pool: ConnectionPool? = nil, waiting: InterruptCallback,
        connect: @escaping Connect
    ) throws(WebFailure) {
        (requested, self.address) = (address, address)
        self.requestBuilder = requestBuilder
        self.pool = pool
        self.waiting = waiting
        self.connect = connect
        guard let begin = range.first.boundedBytes, range.last.map({ $0.boundedBytes != nil }) ?? true else {
            throw WebFailure(code: cff_error_from_errno(EINVAL))
        }
        (first, last, position) = (begin, range.last, begin)
        do throws(WebFailure) { try open() } catch {
            // While a film is opened, the user waits for the result: no retries.
            guard retriesServerErrors, !error.isDowngrade else { throw error }
            let code = tryAgain(after: error.code) { () throws(WebFailure) in
                try open()
                return 0
            }
            if code < 0 { throw WebFailure(code: code) }
        }
    }

    /// The properties of a file on a server that supports ranges.
    struct Identity: Sendable {
        fileprivate var requested: WebAddress
        var address: WebAddress
        var size: Int64
        var contentType: String?
        fileprivate var validator: String?
    }

    /// The identity of the file; nil if the server does not support ranges, or if a range was requested.
    var identity: Identity? {
        guard isSeekable, first == 0, last == nil, let size else { return nil }
        return Identity(
            requested: requested, address: address, size: size, contentType: contentType, validator: validator)
    }

    /// Creates another input of an already opened file; its first read connects.
    init(
        _ identity: Identity, requestBuilder: HTTPRequestBuilder, waiting: InterruptCallback, connect: @escaping Connect
    ) {
        (requested, address) = (identity.requested, identity.address)
        (size, contentType) = (identity.size, identity.contentType)
        (validator, isSeekable) = (identity.validator, true)
        (self.requestBuilder, self.waiting, self.connect) = (requestBuilder, waiting, connect)
        (first, last, position, pool) = (0, nil, 0, nil)
    }

    deinit { release() }

    // MARK: WebBytes

    func read(into target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
        guard !target.isEmpty else { return 0 }
        if isAtEnd { return cff_error_eof }
        do throws(WebFailure) {
            if connection == nil || connectionPosition != position || body?.isComplete == true { try reach() }
            return try receive(target)
        } catch {
            return reconnect(after: error, into: target)
        }
    }

    /// Sets the position; the next read requests it. Positions count from the start of the range.
    func seek(to wanted: Int64) -> Int64 {
        guard let target = Range(firstByte: first, count: wanted)?.upperBound else {
            return Int64(cff_error_from_errno(EINVAL))
        }
        guard isSeekable || target >= connectionPosition else { return Int64(cff_error_from_errno(ESPIPE)) }
        position = target
        return wanted
    }

    var offset: Int64 { position - first }
    /// The number of bytes from the start of the range.
    var length: Int64? { (last ?? size).map { max(0, $0 - first) } }

    private var isAtEnd: Bool {
        if let end = last ?? size, position >= end { return true }
        return connection != nil && connectionPosition == position && body?.isComplete == true && canEnd
    }

    /// Whether the stream may end where a body does: a server may send only a part of the requested range (RFC 9110,
    /// 15.3.7).
    private var canEnd: Bool { (size ?? last).map { connectionPosition >= $0 } ?? true }

    // MARK: Requests

    private func open() throws(WebFailure) {
        var (redirects, challenge, canReturn) = (0, AuthenticationChallenge?.none, address != requested)
        while true {
            release()
            let (fresh, answer) = try ask(challenge)
            for line in answer.all("set-cookie") { requestBuilder.cookies.store(line, from: address) }
            let offered = answer.status == 401 ? answer.all("www-authenticate") : []
            // A password is sent in clear only to a server that requests it so (Basic).
            let answerable = requestBuilder.credentials(for: address).flatMap { _ in
                challenge == nil ? AuthenticationChallenge.strongest(in: offered) : nil
            }
            switch answer.status {
            case 200, 206:
                try begin(fresh, answer)
                return
            case 301, 302, 303, 307, 308:
                redirects += 1
                guard redirects <= Self.maxRedirects, let to = answer["location"], let next = address.resolving(to)
                else {
                    throw WebFailure(code: cff_error_from_errno(EIO))
                }
                if address.isSecure, !next.isSecure {
                    throw WebFailure(code: cff_error_from_errno(EPERM), isDowngrade: true)
                }
                reuse(fresh, after: answer)
                // A redirect does not inherit the user's credentials; the server may state others.
                (address, challenge) = (next, nil)
            case 401 where answerable != nil:
                reuse(fresh, after: answer)
                challenge = answerable
            // Within the known size the file has changed: a failure, not its end.
            case 416 where position > first && size.map({ position >= $0 }) ?? true:
                (connection, body) = (nil, nil)
                size = answer.range?.total ?? position
                return
            // Signed redirect targets expire; the requested URL remains the one to use (RFC 9110, 15.4.3).
            case 400..<500 where canReturn: (address, challenge, canReturn) = (requested, nil, false)
            default:
                var failure = WebFailure(code: Self.code(answer.status))
                if answer.status == 401 {
                    failure.unauthorized = (AuthenticationChallenge.names(in: offered), challenge != nil)
                }
                throw failure
            }
        }
    }

    /// Sends the request on an idle connection of the pool, or else on a new one.
    private func ask(
        _ challenge: AuthenticationChallenge?
    ) throws(WebFailure) -> (any WebConnection, HTTPResponse) {
        if let kept = pool?.remove(for: address) {
            // A router may have dropped the connection without notice.
            kept.setMaxSilence(requestBuilder.maxSilence)
            do throws(WebFailure) { return (kept, try ask(kept, challenge)) } catch {
                // Servers close idle connections at any time (RFC 9112, 9.3.1).
                guard !hasResponse, error.code != cff_error_exit else { throw error }
            }
        }
        let fresh = try connect(address)
        return (fresh, try ask(fresh, challenge))
    }

    private func ask(
        _ connection: any WebConnection, _ challenge: AuthenticationChallenge?
    ) throws(WebFailure) -> HTTPResponse {
        hasResponse = false
        let isProxied = (connection as? NetworkConnection)?.isProxied ?? false
        let head = requestBuilder.request(
            for: address, from: position, to: last, validator: position > first ? validator : nil, challenge: challenge,
            isProxied: isProxied, keepsConnection: pool != nil)
        let code = connection.send(Array(head.utf8))
        if code < 0 { throw WebFailure(code: code) }
        var bytes: [UInt8] = []
        var searched = 0
        while true {
            if let end = HTTPResponse.end(in: bytes, from: searched - 3) {
                guard let answer = HTTPResponse(bytes[..<end]) else { throw WebFailure(code: cff_error_invalid_data) }
                received = bytes[end...]
                // Interim responses (RFC 9110, 15.2).
                guard answer.status < 200 else { return answer }
                bytes = Array(received)
                searched = 0
                continue
            }
            searched = bytes.count
            guard bytes.count < HTTPResponse.largestHead else { throw WebFailure(code: cff_error_invalid_data) }
            do throws(WebFailure) {
                bytes += try piece(from: connection)
                hasResponse = true
            } catch {
                // A connection closed before the response is not the end of the file.
                throw error.code == cff_error_eof ? WebFailure(code: cff_error_from_errno(ECONNRESET)) : error
            }
        }
    }

    private func begin(_ fresh: any WebConnection, _ answer: HTTPResponse) throws(WebFailure) {
        let range = answer.status == 206 ? answer.range : nil
        let start = range?.first ?? 0
        // The server sent another range than requested, or the file has changed.
        let isSame = answer.status == 206 ? range?.first == position : position == 0
        guard isSame else { throw WebFailure(code: cff_error_from_errno(answer.status == 206 ? EIO : ESPIPE)) }
        let total = answer.status == 206 ? range?.total : answer.isChunked ? nil : answer.length
        if let known = size, let total, known != total { throw WebFailure(code: cff_error_from_errno(EIO)) }
        size = size ?? total
        let takesRanges = answer.status == 206 || answer["accept-ranges"]?.lowercased().hasPrefix("bytes") == true
        isSeekable = takesRanges && (size != nil || last != nil)
        if let known = validator, let other = answer.validator, known != other {
            throw WebFailure(code: cff_error_from_errno(EIO))
        }
        validator = answer.validator
        contentType = contentType ?? answer["content-type"]
        (connection, connectionPosition, body, isPersistent) = (fresh, start, WebBody(answer), answer.isPersistent)
        fresh.setMaxSilence(isSeekable ? requestBuilder.maxSilence : nil)
    }

    /// Ends the use of the connection: it is closed unless its response is complete.
    private func release() {
        if let connection, isPersistent, body?.isComplete == true, received.isEmpty {
            pool?.store(connection, to: address)
        }
        connection = nil
    }

    /// Keeps the connection of a response without a body.
    private func reuse(_ fresh: any WebConnection, after answer: HTTPResponse) {
        if answer.isPersistent, answer.length == 0, received.isEmpty { pool?.store(fresh, to: address) }
    }

    private func reach() throws(WebFailure) {
        if connection != nil, position > connectionPosition,
            position - connectionPosition <= Self.shortWay || !isSeekable
        {
            var waste = [UInt8](repeating: 0, count: Self.bufferSize)
            let wanted = position
            while connectionPosition < wanted {
                let left = Int(clamping: min(wanted - connectionPosition, Int64(waste.count)))
                // `position` stays at the target, so that a retry continues there.
                let got = try waste.withUnsafeMutableBufferPointer { (buffer) throws(WebFailure) -> Int32 in
                    try receive(UnsafeMutableBufferPointer(rebasing: buffer[..<left]), moves: false)
                }
                if got <= 0 { throw WebFailure(code: got) }
            }
            return
        }
        try open()
        if connection == nil { throw WebFailure(code: cff_error_eof) }
    }

    private func receive(
        _ target: UnsafeMutableBufferPointer<UInt8>, moves: Bool = true
    ) throws(WebFailure) -> Int32 {
        guard let connection else { return cff_error_eof }
        var wanted = target
        if let last {
            wanted = UnsafeMutableBufferPointer(
                rebasing: target[..<Int(clamping: max(0, min(Int64(target.count), last - connectionPosition)))])
        }
        while true {
            if received.isEmpty, let plain = body?.plain, plain > 0 {
                let room = UnsafeMutableBufferPointer(
                    rebasing: wanted[..<Int(clamping: min(Int64(wanted.count), plain))])
                let got = connection.receive(room)
                guard got < 0 else {
                    body?.passed(Int(got))
                    connectionPosition += Int64(got)
                    if moves { position = connectionPosition }
                    return got
                }
                return try ended(got)
            }
            let got: Int
            do throws(WebBody.Failure) { got = try body?.moveBody(from: &received, into: wanted) ?? 0 } catch {
                throw WebFailure(code: cff_error_invalid_data)
            }
            if got > 0 {
                connectionPosition += Int64(got)
                if moves { position = connectionPosition }
                return Int32(clamping: got)
            }
            if body?.isComplete ?? true { return try ended(cff_error_eof) }
            do throws(WebFailure) { received += try piece(from: connection) } catch { return try ended(error.code) }
        }
    }

    /// Distinguishes the end of the stream from an interrupted or partial transfer.
    private func ended(_ code: Int32) throws(WebFailure) -> Int32 {
        guard code == cff_error_eof else { throw WebFailure(code: code) }
        if body?.isComplete == true || body?.endsWithConnection == true, canEnd { return cff_error_eof }
        throw WebFailure(code: cff_error_from_errno(ECONNRESET))
    }

    private func piece(from connection: any WebConnection) throws(WebFailure) -> ArraySlice<UInt8> {
        var bytes = [UInt8](repeating: 0, count: Self.bufferSize)
        let got = bytes.withUnsafeMutableBufferPointer { connection.receive($0) }
        if got < 0 { throw WebFailure(code: got) }
        return bytes[..<Int(got)]
    }

    // MARK: Interrupted transfers

    private func reconnect(after failure: WebFailure, into target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
        guard retries, isSeekable || position == 0 else { return failure.code }
        return tryAgain(after: failure.code) { () throws(WebFailure) in
            try open()
            return connection == nil ? cff_error_eof : try receive(target)
        }
    }

    /// Retries until the guard ends it, the error is permanent, or all delays are used up. Blocks.
    private func tryAgain(after code: Int32, _ body: () throws(WebFailure) -> Int32) -> Int32 {
        var (code, isReported) = (code, false)
        let began = HostInstant.now
        let host = address.host
        requestBuilder.recordLost(host)
        defer { requestBuilder.recordFound(host) }
        for delay in requestBuilder.delays {
            connection = nil
            guard Self.mayPass(code) else { return code }
            let instant = HostInstant.now.advanced(by: delay)
            while HostInstant.now < instant {
                if waiting.isCancelled || waiting.isPastDeadline { return cff_error_exit }
                if !isReported, HostInstant.now - began > .seconds(1) {
                    isReported = true
                    requestBuilder.report("the connection to \(address.host) was lost; reconnecting")
                }
                min(instant, HostInstant.now.advanced(by: .milliseconds(100))).sleep()
            }
            if waiting.isCancelled || waiting.isPastDeadline { return cff_error_exit }
            do throws(WebFailure) { return try body() } catch { code = error.code }
        }
        return code
    }

    /// Whether an error may be temporary.
    private static func mayPass(_ code: Int32) -> Bool {
        ![
            cff_error_exit, cff_error_eof, cff_error_invalid_data, cff_error_http_bad_request, cff_error_http_forbidden,
            cff_error_http_unauthorized, cff_error_http_not_found, cff_error_http_other_4xx,
            cff_error_from_errno(EPERM),
            cff_error_from_errno(ESPIPE),
        ].contains(code)
    }

    private static func code(_ status: Int) -> Int32 {
        switch status {
        case 400: cff_error_http_bad_request
        case 401: cff_error_http_unauthorized
        case 403: cff_error_http_forbidden
        case 404: cff_error_http_not_found
        case 500...: cff_error_http_server
        default: cff_error_http_other_4xx
        }
    }
}
