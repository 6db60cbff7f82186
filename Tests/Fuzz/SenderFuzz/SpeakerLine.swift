import AirPlayWire
import Glibc

@testable import AirPlay
@testable import Sockets

/// One connection in memory: the sender's end as it knows it, and the speaker's, of which this is in charge. Nobody ever waits: what
/// the speaker says is there before it is asked for.
final class SpeakerLine {
    let socket: TCPSocket
    private let far: Int32
    private(set) var taken = 0

    init() {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0, "there is a pair of sockets")
        let home = IPv4Address(rawValue: 0x7F00_0001)
        socket = TCPSocket(descriptor: ends[0], local: home, remote: home)
        far = ends[1]
    }

    deinit { close(far) }

    func say(_ bytes: [UInt8]) { _ = send(far, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }

    /// Nothing more is said; the sender may go on.
    func hangUp() { shutdown(far, Int32(SHUT_WR)) }

    /// What the sender said since this was asked.
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
