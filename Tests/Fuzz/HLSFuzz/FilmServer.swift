import Glibc
import MediaCore

/// A web server for the files of one input, on a separate thread. A file that starts with `HTTP/` is sent as a raw
/// response, so that an input can redirect, state wrong lengths and truncate.
final class FilmServer: Sendable {
    let port: UInt16
    let files = Lock(FilmFiles([]))

    init() {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        port = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                precondition(bind(listener, $0, size) == 0 && listen(listener, 64) == 0, "there is a port to serve on")
                getsockname(listener, $0, &size)
            }
            return UInt16(bigEndian: $0.pointee.sin_port)
        }
        _ = try! WorkerThread.start(name: "film server") { [self] in serve(listener) }
    }

    private func serve(_ listener: Int32) {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            answer(connection)
            close(connection)
        }
    }

    private func answer(_ connection: Int32) {
        var timeout = timeval(tv_sec: 1, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var asked: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 8192)
        while asked.count < 65536, asked.firstRange(of: Array("\r\n\r\n".utf8)) == nil {
            let count = recv(connection, &piece, piece.count, 0)
            guard count > 0 else { return }
            asked += piece.prefix(count)
        }
        let lines = String(decoding: asked, as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count > 1, let bytes = files.withLock({ $0.file(words[1].dropFirst()) }) else {
            return say("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", [], connection)
        }
        guard !bytes.starts(with: Array("HTTP/".utf8)) else { return say("", bytes, connection) }
        let range =
            lines.first { $0.lowercased().hasPrefix("range: bytes=") }?.dropFirst(13).split(separator: "-") ?? []
        if let first = range.first.flatMap({ Int64($0) }), first >= bytes.count {
            // Simulates a server that has every requested range.
            let last = range.dropFirst().first.flatMap { Int64($0) } ?? .max - 1
            return say(
                "HTTP/1.1 206 Partial Content\r\nContent-Length: \(last &- first &+ 1)\r\nContent-Range: bytes "
                    + "\(first)-\(last)/\(Int64.max)\r\nAccept-Ranges: bytes\r\nConnection: close\r\n\r\n", bytes,
                connection)
        }
        let first = min(range.first.flatMap { Int($0) } ?? 0, bytes.count)
        let last = max(
            first, min(range.dropFirst().first.flatMap { Int($0) }.map { $0 &+ 1 } ?? bytes.count, bytes.count))
        let head =
            "HTTP/1.1 206 Partial Content\r\nContent-Length: \(last - first)\r\n"
            + "Content-Range: bytes \(first)-\(last - 1)/\(bytes.count)\r\nAccept-Ranges: bytes\r\nConnection: close\r\n\r\n"
        say(head, Array(bytes[first..<last]), connection)
    }

    private func say(_ head: String, _ body: [UInt8], _ connection: Int32) {
        let all = Array(head.utf8) + body
        _ = send(connection, all, all.count, Int32(MSG_NOSIGNAL))
        // Closing a socket with unread bytes would discard the response.
        shutdown(connection, Int32(SHUT_WR))
    }
}
