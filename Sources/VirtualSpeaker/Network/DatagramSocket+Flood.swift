internal import Sockets

extension DatagramSocket {
    /// Maximum number of datagrams read per iteration, so that a flood does not block the
    /// thread. Protocols send far fewer.
    static let burst = 256

    /// Discards received datagrams, at most 4096, about the contents of a socket's buffer.
    func discard(into buffer: inout [UInt8]) {
        for _ in 0..<16 * Self.burst { guard receive(into: &buffer) != nil else { return } }
    }
}
