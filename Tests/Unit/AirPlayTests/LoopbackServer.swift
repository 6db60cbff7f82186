import Glibc
import MediaCore
import PTP
import Sockets
import Testing

@testable import AirPlay

/// A receiver's end of a local connection, controlled by the test.
///
/// `@unchecked Sendable`: `connect` is called before another thread has the object; afterwards only system calls are
/// made.
final class LoopbackServer: @unchecked Sendable {
    private let listener: Int32
    let port: UInt16
    private var connection: Int32 = -1

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let code = NetworkAddress.loopback.withSocketAddress(port: 0) { bind(listener, $0, $1) }
        try #require(code == 0 && listen(listener, 1) == 0)
        var own = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &own) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
        }
        self.listener = listener
        port = UInt16(bigEndian: own.sin_port)
    }

    deinit {
        close(listener)
        if connection >= 0 { close(connection) }
    }

    /// Connects both ends; returns the client's.
    func connect() throws -> TCPSocket {
        let client = try TCPSocket.connect(
            to: NetworkAddress("127.0.0.1")!, port: port, deadline: .now.advanced(by: .seconds(20)))
        connection = accept(listener, nil, nil)
        return client
    }

    func send(_ bytes: [UInt8]) { _ = Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
    func send(_ text: String) { send(Array(text.utf8)) }

    /// Returns the received bytes, at least one; empty if the peer has closed the connection.
    func receive() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65536)
        return Array(buffer[..<max(0, recv(connection, &buffer, buffer.count, 0))])
    }

    /// Accepts a connection, reads its first bytes, sends a response and closes it.
    func answerNext(_ bytes: [UInt8]) {
        let sender = accept(listener, nil, nil)
        defer { close(sender) }
        var buffer = [UInt8](repeating: 0, count: 65536)
        guard recv(sender, &buffer, buffer.count, 0) > 0 else { return }
        _ = Glibc.send(sender, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    func hangUp() { shutdown(connection, Int32(SHUT_RDWR)) }
}
