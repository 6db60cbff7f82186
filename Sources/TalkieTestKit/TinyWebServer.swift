internal import Glibc
package import MediaCore
internal import Synchronization

/// A web server on this machine with one bad manner per address, for tests of what reads from the network.
///
/// `/NAME` sends a file of the folder and understands ranges; with a prefix it misbehaves:
/// `/whole/NAME` knows no ranges, `/stall/NAME` sends the header of the answer and then nothing,
/// `/half/NAME` sends half of what it announced and then nothing, `/drop/NAME` sends half and hangs up,
/// `/faulty/NAME` sends half and hangs up, answers the next two requests with 503, and then knows ranges, `/login/NAME` sets a cookie,
/// `/typed/TYPE/SUBTYPE/NAME` says that it is of a type,
/// `/circle` sends back to itself, `/moved/NAME` sends on to the file, `/onward/SCHEME/PORT/NAME` to another server, `/silent` takes the request and never answers.
/// Anything else is 404.
///
/// `@unchecked Sendable`: the listening socket is set once in `init`; all else is atomic or on the server's threads.
package final class TinyWebServer: @unchecked Sendable {
    private let listener: Int32
    private let folder: String
    package let port: UInt16
    private let isStopping = Atomic<Bool>(false)
    private let requestCount = Atomic<Int>(0)
    private let byteCount = Atomic<Int>(0)
    private let arrival = Signal()

    private let faults = Lock<[String: Int]>([:])
    private let heads = Lock<[String]>([])

    /// What was asked for, word by word, the latest last.
    package var requestHeads: [String] { heads.withLock { $0 } }

    /// Requests answered so far.
    package var requests: Int { requestCount.load(ordering: .relaxed) }

    /// Bytes of all answers so far, as far as the system has taken them.
    package var bytesSent: Int { byteCount.load(ordering: .relaxed) }

    /// Waits for the next request that nobody has waited for yet; false when the moment passes without one.
    package func waitForRequest(until deadline: HostInstant) -> Bool { arrival.wait(until: deadline) }

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

    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }

    /// Takes no more connections; those that stall end with their clients.
    package func stop() {
        isStopping.store(true, ordering: .relaxed)
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func serve() {
        while !isStopping.load(ordering: .relaxed) {
            let client = accept(listener, nil, nil)
            if client < 0 { return }
            // What the system holds counts as sent.
            var space: Int32 = 32 << 10
            setsockopt(client, SOL_SOCKET, SO_SNDBUF, &space, socklen_t(MemoryLayout<Int32>.size))
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
        let words = (lines.first ?? "").split(separator: " ").map(String.init)
        guard words.count >= 2 else { return }
        var parts = words[1].split(separator: "/").map(String.init)
        let manners: Set<String> = [
            "whole", "stall", "half", "drop", "circle", "moved", "onward", "silent", "faulty", "login", "typed",
            "short",
        ]
        let manner = parts.first.flatMap { manners.contains($0) ? $0 : nil } ?? ""
        if !manner.isEmpty { parts.removeFirst() }
        switch manner {
        case "silent": waitForHangUp(client)
        case "circle": send(client, "HTTP/1.1 302 Found\r\nLocation: /circle\r\nContent-Length: 0\r\n\r\n")
        case "moved":
            let to = parts.joined(separator: "/")
            send(client, "HTTP/1.1 301 Moved Permanently\r\nLocation: /\(to)\r\nContent-Length: 0\r\n\r\n")
        case "typed" where parts.count > 2:
            let type = "Content-Type: \(parts[0])/\(parts[1])\r\n"
            sendFile(
                client, parts.dropFirst(2).joined(separator: "/"), manner: "", range: Self.range(in: lines), more: type)
        case "onward" where parts.count > 2:
            let to = "\(parts[0])://localhost:\(parts[1])/\(parts.dropFirst(2).joined(separator: "/"))"
            send(client, "HTTP/1.1 302 Found\r\nLocation: \(to)\r\nContent-Length: 0\r\n\r\n")
        default: sendFile(client, parts.joined(separator: "/"), manner: manner, range: Self.range(in: lines))
        }
    }

    private static func range(in lines: [String]) -> Int? {
        for line in lines where line.lowercased().hasPrefix("range: bytes=") {
            return Int(line.dropFirst(13).prefix { $0.isNumber })
        }
        return nil
    }

    private func sendFile(_ client: Int32, _ name: String, manner: String, range: Int?, more: String = "") {
        // ignored: the answer is 404.
        guard !name.contains(".."), !name.isEmpty, let bytes = try? TestClips.bytes(of: folder + "/" + name) else {
            send(client, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        }
        let start = manner == "whole" ? 0 : min(range ?? 0, bytes.count)
        let body = bytes[start...]
        var header = manner == "whole" || range == nil ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 206 Partial Content\r\n"
        let turn =
            manner == "faulty"
            ? faults.withLock {
                $0[name, default: 0] += 1; return $0[name]!
            } : 0
        if turn == 2 || turn == 3 {
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
        case "stall": waitForHangUp(client)
        case "half":
            send(client, Array(body.prefix(body.count / 2)))
            waitForHangUp(client)
        case "faulty" where turn == 1: send(client, Array(body.prefix(body.count / 2)))
        // Whatever is asked for: nothing comes from the middle on.
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
            byteCount.add(got, ordering: .relaxed)
        }
    }
}
