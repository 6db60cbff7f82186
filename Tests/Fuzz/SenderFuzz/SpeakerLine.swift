import AirPlayWire
import Glibc

@testable import AirPlay
@testable import AirPlayTransport
@testable import Sockets

/// A socket pair: one end is a sender's connection, the other is controlled by the test. No read blocks: the test
/// writes a response before it is read.
final class SpeakerLine {
    let socket: TCPSocket
    private let far: Int32
    private(set) var taken = 0

    init() {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0, "there is a pair of sockets")
        let home = NetworkAddress.loopback
        socket = TCPSocket(descriptor: ends[0], local: home, remote: home)
        far = ends[1]
    }

    deinit { close(far) }

    func say(_ bytes: [UInt8]) { _ = send(far, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

    /// Closes the writing direction; the sender can still write.
    func hangUp() { shutdown(far, Int32(SHUT_WR)) }

    /// Returns the bytes that the sender wrote since the last call.
    func hear() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1 << 17)
        let count = recv(far, &bytes, bytes.count, 0)
        taken += max(0, count)
        return Array(bytes.prefix(max(0, count)))
    }

    var connection: RTSPConnection {
        RTSPConnection(socket: socket, identity: SenderIdentity(rawValue: 0xA1, name: "Fuzz"))
    }
}
