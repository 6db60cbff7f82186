import Glibc

/// Connections to a TCP server on 127.0.0.1, with blocking sockets. Any thread.
package enum Loopback {
    /// The server refused the connection.
    package struct NotConnected: Error {}

    /// Returns a connected socket, which the caller closes. A read fails after 30 s.
    package static func connect(_ port: UInt16) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let code = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard code == 0 else {
            close(descriptor)
            throw NotConnected()
        }
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        return descriptor
    }

    /// Sends a text.
    package static func send(_ text: String, on descriptor: Int32) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Returns all bytes until the peer closes the connection.
    package static func receive(_ descriptor: Int32) -> [UInt8] {
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = recv(descriptor, &piece, piece.count, 0)
            if count <= 0 { return bytes }
            bytes += piece[..<count]
        }
    }

    /// The response of an HTTP server.
    package struct Response {
        package var head: String
        package var body: [UInt8]
        /// 0 without a response.
        package var status: Int { Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0 }
        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    /// Requests a path from an HTTP server that closes the connection after its response.
    ///
    /// - Parameter more: Further header fields.
    package static func request(
        _ path: String, _ port: UInt16, method: String = "GET", more: String = "", host: String = "127.0.0.1"
    ) throws -> Response {
        let descriptor = try connect(port)
        defer { close(descriptor) }
        send("\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n\(more)\r\n", on: descriptor)
        let bytes = receive(descriptor)
        let end = bytes.indices.first { bytes[$0...].starts(with: [13, 10, 13, 10]) } ?? bytes.endIndex
        return Response(
            head: String(decoding: bytes[..<end], as: UTF8.self), body: Array(bytes[end...].dropFirst(4)))
    }
}
