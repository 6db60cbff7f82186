internal import Sockets

extension DatagramSocket {
    /// Datagrams that are looked at before anything else is: whoever sends faster than they are read must not keep a
    /// thread from its other work, nor from ending. Far more than the protocols bring at a time.
    static let burst = 256

    /// Throws away what has come, up to a socket's buffer full of it.
    func discard(into buffer: inout [UInt8]) {
        for _ in 0..<16 * Self.burst { guard receive(into: &buffer) != nil else { return } }
    }
}
