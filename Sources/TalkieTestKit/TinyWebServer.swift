internal import Glibc
package import MediaCore
internal import Synchronization

/// An HTTP server on this machine with one fault per path prefix, for tests of network readers.
///
/// `/NAME` sends a file of the folder and supports ranges. With a prefix it misbehaves:
///
/// - `/whole/NAME` does not support ranges; `/stall/NAME` sends the response header and then nothing.
/// - `/half/NAME` sends half of the announced body and then nothing; `/drop/NAME` sends half and closes the connection.
/// - `/short/NAME` sends nothing beyond the middle of the file.
/// - `/cut/FIRST-LAST/NAME` does not support ranges, and ends these responses for the file at half of their length.
/// - `/faulty/NAME` sends half and closes, answers the next two requests with 503, then supports ranges.
/// - `/login/NAME` sets a cookie; `/typed/TYPE/SUBTYPE/NAME` has that content type.
/// - `/circle` redirects to itself, `/moved/NAME` to the file, `/onward/SCHEME/PORT/NAME` to another server.
/// - `/silent` accepts the request and never answers.
///
/// Anything else is 404.
///
/// `@unchecked Sendable`: the listening socket is set once in `init`; all other state is atomic or locked.
package final class TinyWebServer: @unchecked Sendable {
    private let listener: Int32
    private let folder: String
    /// The TCP port.
    package let port: UInt16
    /// Set by `stop`, read by the server thread.
    private let isStopping = Atomic<Bool>(false)
    /// Written by the client threads.
    private let requestCount = Atomic<Int>(0)
    private let arrival = Signal()

    /// Requests per file with the prefix `faulty` or `cut`.
    private let faults = Lock<[String: Int]>([:])
    /// Written by the client threads.
    private let heads = Lock<[String]>([])

    /// The headers of all requests, newest last.
    package var requestHeads: [String] { heads.withLock { $0 } }

    /// The number of received requests.
    package var requests: Int { requestCount.load(ordering: .relaxed) }

    /// Blocks until the next request. Returns false at the deadline.
    package func waitForRequest(until deadline: HostInstant) -> Bool { arrival.wait(until: deadline) }

    /// Starts the server on 127.0.0.1.
    package init(serving folder: String) throws {
        self.folder = folder
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutableBytes(of: &address) { bytes -> Bool in
            let generic = bytes.bindMemory(to: sockaddr.self).baseAddress!
            return bind(listener, generic, size) == 0 && listen(listener, 16) == 0
                && getsockname(listener, generic, &size) == 0
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isBound else { throw TestClips.Failure(description: "no socket for the web server") }
        _ = try WorkerThread.start(name: "tiny web") { [self] in serve() }
    }

    /// Returns the URL of a path.
    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

    /// Stops accepting connections; stalled ones end with their clients.
    package func stop() {
        isStopping.store(true, ordering: .relaxed)
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func serve() {
        while !isStopping.load(ordering: .relaxed) {
            let client = accept(listener, nil, nil)
            if client < 0 { return }
            // ignored: a client that gets no answer fails its test.
            _ = try? WorkerThread.start(name: "tiny web client") { [self] in
                answer(client)
                close(client)
            }
        }
    }

    private func answer(_ client: Int32) {
        var request: [UInt8] = []
        var byte: UInt8 = 0
        while !request.suffix(4).elementsEqual([13, 10, 13, 10]), request.count < 8192 {
            if recv(client, &byte, 1, 0) != 1 { return }
            request.append(byte)
        }
        requestCount.add(1, ordering: .relaxed)
        arrival.raise()
        heads.withLock { if $0.count < 10_000 { $0.append(String(decoding: request, as: UTF8.self)) } }
        let lines = String(decoding: request, as: UTF8.self).split(separator: "\r\n").map(String.init)
        let tokens = (lines.first ?? "").split(separator: " ").map(String.init)
        guard tokens.count >= 2 else { return }
        var segments = tokens[1].split(separator: "/").map(String.init)
        let manners: Set<String> = [
            "whole", "cut", "stall", "half", "drop", "circle", "moved", "onward", "silent", "faulty", "login", "typed",
            "short",
        ]
        let manner = segments.first.flatMap { manners.contains($0) ? $0 : nil } ?? ""
        if !manner.isEmpty { segments.removeFirst() }
        switch manner {
        case "silent": waitForHangUp(client)
        case "circle": send(client, "HTTP/1.1 302 Found\r\nLocation: /circle\r\nContent-Length: 0\r\n\r\n")
        case "moved":
            let to = segments.joined(separator: "/")
            send(client, "HTTP/1.1 301 Moved Permanently\r\nLocation: /\(to)\r\nContent-Length: 0\r\n\r\n")
        case "typed" where segments.count > 2:
            let type = "Content-Type: \(segments[0])/\(segments[1])\r\n"
            sendFile(
                client, segments.dropFirst(2).joined(separator: "/"), manner: "", range: Self.range(in: lines),
                more: type)
        case "cut" where segments.count > 1:
            let cut = segments[0].split(separator: "-").compactMap { Int($0) }
            sendFile(client, segments.dropFirst().joined(separator: "/"), manner: "whole", range: nil, cut: cut)
        case "onward" where segments.count > 2:
            let to = "\(segments[0])://localhost:\(segments[1])/\(segments.dropFirst(2).joined(separator: "/"))"
            send(client, "HTTP/1.1 302 Found\r\nLocation: \(to)\r\nContent-Length: 0\r\n\r\n")
        default: sendFile(client, segments.joined(separator: "/"), manner: manner, range: Self.range(in: lines))
        }
    }

    private static func range(in lines: [String]) -> Int? {
        for line in lines where line.lowercased().hasPrefix("range: bytes=") {
            return Int(line.dropFirst(13).prefix { $0.isNumber })
        }
        return nil
    }

    private func sendFile(
        _ client: Int32, _ name: String, manner: String, range: Int?, more: String = "", cut: [Int] = []
    ) {
        // ignored: the answer is 404.
        guard !name.contains(".."), !name.isEmpty, let bytes = try? TestClips.bytes(of: folder + "/" + name) else {
            send(client, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        }
        let start = manner == "whole" ? 0 : min(range ?? 0, bytes.count)
        let body = bytes[start...]
        var header = manner == "whole" || range == nil ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 206 Partial Content\r\n"
        let turn =
            manner == "faulty" || !cut.isEmpty
            ? faults.withLock {
                $0[name, default: 0] += 1; return $0[name]!
            } : 0
        if cut.isEmpty, turn == 2 || turn == 3 {
            send(client, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
            return
        }
        header += more
        if manner == "login" { header += "Set-Cookie: pass=given; Path=/\r\n" }
        if manner != "whole" {
            header += "Accept-Ranges: bytes\r\n"
            if range != nil { header += "Content-Range: bytes \(start)-\(bytes.count - 1)/\(bytes.count)\r\n" }
        }
        send(client, header + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n")
        switch manner {
        case "whole" where cut.count == 2 && cut[0] <= turn && turn <= cut[1]:
            send(client, Array(body.prefix(body.count / 2)))
        case "stall": waitForHangUp(client)
        case "half":
            send(client, Array(body.prefix(body.count / 2)))
            waitForHangUp(client)
        case "faulty" where turn == 1: send(client, Array(body.prefix(body.count / 2)))
        // Nothing beyond the middle of the file, whatever the range.
        case "short": send(client, Array(body.prefix(max(0, bytes.count / 2 - start))))
        case "drop": send(client, Array(body.prefix(body.count / 2)))
        default: send(client, Array(body))
        }
    }

    private func waitForHangUp(_ client: Int32) {
        var byte: UInt8 = 0
        while recv(client, &byte, 1, 0) > 0 {}
    }

    private func send(_ client: Int32, _ text: String) { send(client, Array(text.utf8)) }

    private func send(_ client: Int32, _ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let got = bytes.withUnsafeBytes {
                Glibc.send(client, $0.baseAddress! + sent, bytes.count - sent, Int32(truncatingIfNeeded: MSG_NOSIGNAL))
            }
            if got <= 0 { return }
            sent += got
        }
    }
}
