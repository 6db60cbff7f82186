internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Bytes from a web server that libavformat reads, from any place where the server can begin inside of a file.
protocol WebBytes: AnyObject {
    var isSeekable: Bool { get }
    /// The place of the byte that is read next, and the number of bytes; nil where the server does not state it.
    var offset: Int64 { get }
    var length: Int64? { get }
    /// - Returns: how many bytes, `cff_error_eof` at the end, or another error of libavutil.
    func read(into target: UnsafeMutableBufferPointer<UInt8>) -> Int32
    /// - Returns: the new offset, or an error of libavutil.
    func seek(to wanted: Int64) -> Int64
}

/// What one address on a web server sends, from any place, for libavformat.
///
/// libavformat's own client sends every header field on to wherever a server leads. This one sends secrets to the server that they
/// are for, follows no way out of `https`, and takes up what breaks off.
///
/// `@unchecked Sendable`: used by the one thread that uses the demuxer.
final class WebInput: WebBytes, @unchecked Sendable {
    typealias Connect = (WebAddress) throws(WebFailure) -> any WebConnection

    private let asker: WebAsker
    private let waiting: BlockingGuard
    private let connect: Connect
    /// Where the last answer came from.
    private(set) var address: WebAddress
    /// Of a piece of a file: where it begins and the byte behind it.
    private let first: Int64
    private let last: Int64?

    private(set) var size: Int64?
    private(set) var isSeekable = false
    private(set) var contentType: String?
    private var validator: String?
    private var position: Int64
    private var connection: (any WebConnection)?
    /// Where the connection is.
    private var place: Int64 = 0
    private var body: WebBody?
    private var received: ArraySlice<UInt8> = []

    /// What libavformat follows, too.
    private static let mostRedirects = 8
    /// Shorter ways ahead are read: a new connection takes longer.
    static let shortWay: Int64 = 256 << 10
    private static let bufferSize = 32 << 10

    /// Opens an address and reads the head of the answer.
    ///
    /// - Parameters:
    ///   - range: of the bytes that are wanted, where a playlist says so.
    ///   - isPatient: whether a server that has a fault is asked again.
    /// - Throws: an error of libavutil; EINVAL for a range beyond `InputLimit.maxBytes`.
    init(
        _ address: WebAddress, asker: WebAsker, range: (first: Int64, last: Int64?) = (0, nil),
        isPatient: Bool = false, waiting: BlockingGuard, connect: @escaping Connect
    ) throws(WebFailure) {
        self.address = address
        self.asker = asker
        self.waiting = waiting
        self.connect = connect
        guard let begin = range.first.boundedBytes, range.last.map({ $0.boundedBytes != nil }) ?? true else {
            throw WebFailure(code: cff_error_from_errno(EINVAL))
        }
        (first, last, position) = (begin, range.last, begin)
        do throws(WebFailure) { try open() } catch {
            // While a film is being opened a person waits for the answer, whatever it is.
            guard isPatient, !error.isDowngrade else { throw error }
            let code = tryAgain(after: error.code) { () throws(WebFailure) in
                try open()
                return 0
            }
            if code < 0 { throw WebFailure(code: code) }
        }
    }

    /// What a server said of a file that it sends from any place.
    struct Identity: Sendable {
        var address: WebAddress
        var size: Int64
        var contentType: String?
        fileprivate var validator: String?
    }

    /// Nil where the server cannot begin inside of a file, or a range was asked for.
    var identity: Identity? {
        guard isSeekable, first == 0, last == nil, let size else { return nil }
        return Identity(address: address, size: size, contentType: contentType, validator: validator)
    }

    /// Creates a further input of a file that was opened before; the first reading connects.
    init(_ identity: Identity, asker: WebAsker, waiting: BlockingGuard, connect: @escaping Connect) {
        (address, size, contentType) = (identity.address, identity.size, identity.contentType)
        (validator, isSeekable) = (identity.validator, true)
        (self.asker, self.waiting, self.connect) = (asker, waiting, connect)
        (first, last, position) = (0, nil, 0)
    }

    // MARK: For libavformat

    func read(into target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
        guard !target.isEmpty else { return 0 }
        if isAtEnd { return cff_error_eof }
        do throws(WebFailure) {
            if connection == nil || place != position { try reach() }
            return try receive(target)
        } catch {
            return takeUp(after: error, into: target)
        }
    }

    /// Goes elsewhere; the next reading asks for it. Bytes are counted from the beginning of the piece.
    func seek(to wanted: Int64) -> Int64 {
        guard let target = Range(firstByte: first, count: wanted)?.upperBound else {
            return Int64(cff_error_from_errno(EINVAL))
        }
        guard isSeekable || target >= place else { return Int64(cff_error_from_errno(ESPIPE)) }
        position = target
        return wanted
    }

    var offset: Int64 { position - first }
    /// How many bytes there are from the beginning of the piece on.
    var length: Int64? { (last ?? size).map { max(0, $0 - first) } }

    private var isAtEnd: Bool {
        if let end = last ?? size, position >= end { return true }
        return connection != nil && place == position && body?.isComplete == true
    }

    // MARK: Asking

    private func open() throws(WebFailure) {
        var (redirects, challenge) = (0, String?.none)
        while true {
            connection = nil
            let fresh = try connect(address)
            let answer = try ask(fresh, challenge)
            for line in answer.all("set-cookie") { asker.cookies.take(line, from: address) }
            switch answer.status {
            case 200, 206:
                try begin(fresh, answer)
                return
            case 301, 302, 303, 307, 308:
                redirects += 1
                guard redirects <= Self.mostRedirects, let to = answer["location"], let next = address.resolving(to)
                else {
                    throw WebFailure(code: cff_error_from_errno(EIO))
                }
                if address.isSecure, !next.isSecure, asker.trust.verifies {
                    throw WebFailure(code: cff_error_from_errno(EPERM), isDowngrade: true)
                }
                // An address may name the same person for elsewhere; that is for the server to say, and not for us.
                (address, challenge) = (next, nil)
            case 401 where challenge == nil && asker.credentials(for: address) != nil:
                challenge = answer.all("www-authenticate").first { asker.answers($0) } ?? "Basic"
            case 416 where position > first:
                (connection, body) = (nil, nil)
                size = answer.range?.total ?? position
                return
            default: throw WebFailure(code: Self.code(answer.status))
            }
        }
    }

    private func ask(_ connection: any WebConnection, _ challenge: String?) throws(WebFailure) -> WebAnswer {
        let isProxied = (connection as? NetworkConnection)?.isProxied ?? false
        let head = asker.request(
            for: address, from: position, to: last, validator: position > first ? validator : nil, challenge: challenge,
            isProxied: isProxied)
        let code = connection.send(Array(head.utf8))
        if code < 0 { throw WebFailure(code: code) }
        var bytes: [UInt8] = []
        var searched = 0
        while true {
            if let end = WebAnswer.end(in: bytes, from: searched - 3) {
                guard let answer = WebAnswer(bytes[..<end]) else { throw WebFailure(code: cff_error_invalid_data) }
                received = bytes[end...]
                // What is not final yet (RFC 9110, 15.2).
                guard answer.status < 200 else { return answer }
                bytes = Array(received)
                searched = 0
                continue
            }
            searched = bytes.count
            guard bytes.count < WebAnswer.largestHead else { throw WebFailure(code: cff_error_invalid_data) }
            do throws(WebFailure) { bytes += try piece(from: connection) } catch {
                // A server that closes before it has answered is not at the end of its file.
                throw error.code == cff_error_eof ? WebFailure(code: cff_error_from_errno(ECONNRESET)) : error
            }
        }
    }

    private func begin(_ fresh: any WebConnection, _ answer: WebAnswer) throws(WebFailure) {
        let range = answer.status == 206 ? answer.range : nil
        let start = range?.first ?? 0
        // A server that sends another piece than it was asked for, or a file that has changed since.
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
        (connection, place, body) = (fresh, start, WebBody(answer))
        fresh.setMaxSilence(isSeekable ? asker.maxSilence : nil)
    }

    private func reach() throws(WebFailure) {
        if connection != nil, position > place, position - place <= Self.shortWay || !isSeekable {
            var waste = [UInt8](repeating: 0, count: Self.bufferSize)
            let wanted = position
            while place < wanted {
                let left = Int(clamping: min(wanted - place, Int64(waste.count)))
                // The position follows, so that what breaks off here goes on here.
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
                rebasing: target[..<Int(clamping: max(0, min(Int64(target.count), last - place)))])
        }
        while true {
            if received.isEmpty, let plain = body?.plain, plain > 0 {
                let room = UnsafeMutableBufferPointer(
                    rebasing: wanted[..<Int(clamping: min(Int64(wanted.count), plain))])
                let got = connection.receive(room)
                guard got < 0 else {
                    body?.passed(Int(got))
                    place += Int64(got)
                    if moves { position = place }
                    return got
                }
                return try ended(got)
            }
            let got: Int
            do throws(WebBody.Failure) { got = try body?.take(from: &received, into: wanted) ?? 0 } catch {
                throw WebFailure(code: cff_error_invalid_data)
            }
            if got > 0 {
                place += Int64(got)
                if moves { position = place }
                return Int32(clamping: got)
            }
            if body?.isComplete ?? true { return cff_error_eof }
            do throws(WebFailure) { received += try piece(from: connection) } catch { return try ended(error.code) }
        }
    }

    /// Tells the end of a body from one that was cut off.
    private func ended(_ code: Int32) throws(WebFailure) -> Int32 {
        guard code == cff_error_eof else { throw WebFailure(code: code) }
        if body?.endsWithConnection == true, size.map({ place >= $0 }) ?? true { return cff_error_eof }
        throw WebFailure(code: cff_error_from_errno(ECONNRESET))
    }

    private func piece(from connection: any WebConnection) throws(WebFailure) -> ArraySlice<UInt8> {
        var bytes = [UInt8](repeating: 0, count: Self.bufferSize)
        let got = bytes.withUnsafeMutableBufferPointer { connection.receive($0) }
        if got < 0 { throw WebFailure(code: got) }
        return bytes[..<Int(got)]
    }

    // MARK: What broke off

    private func takeUp(after failure: WebFailure, into target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
        guard isSeekable || position == 0 else { return failure.code }
        return tryAgain(after: failure.code) { () throws(WebFailure) in
            try open()
            return connection == nil ? cff_error_eof : try receive(target)
        }
    }

    /// Tries again and again for as long as anybody waits, or until it has been refused too often.
    private func tryAgain(after code: Int32, _ body: () throws(WebFailure) -> Int32) -> Int32 {
        var (code, isTold) = (code, false)
        let began = HostInstant.now
        let host = address.host
        asker.noteLost(host)
        defer { asker.noteFound(host) }
        for delay in asker.delays {
            connection = nil
            guard Self.mayPass(code) else { return code }
            let moment = HostInstant.now.advanced(by: delay)
            while HostInstant.now < moment {
                if waiting.isCancelled || waiting.isPastDeadline { return cff_error_exit }
                if !isTold, HostInstant.now - began > .seconds(1) {
                    isTold = true
                    asker.tell("the connection to \(address.host) broke off; it is being tried again")
                }
                min(moment, HostInstant.now.advanced(by: .milliseconds(100))).sleep()
            }
            if waiting.isCancelled || waiting.isPastDeadline { return cff_error_exit }
            do throws(WebFailure) { return try body() } catch { code = error.code }
        }
        return code
    }

    /// Whether it may be better in a moment: nothing was refused for good.
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
