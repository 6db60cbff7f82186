internal import MediaCore
internal import Sockets

extension SpeakerError {
    /// A listening socket of the speaker's.
    static func listening(
        address: IPv4Address, port: UInt16 = 0, listens: Bool = true
    ) throws(SpeakerError) -> TCPListener {
        do {
            return try TCPListener(address: address, port: port, listens: listens)
        } catch {
            guard error.code == .addressInUse else {
                throw SpeakerError(
                    .cannotListen,
                    "Cannot listen on \(address):\(port) (\(error.message)); choose an address of this computer.")
            }
            throw SpeakerError(
                .cannotListen, "Another program listens on \(address):\(port); choose another --address or stop it.")
        }
    }

    /// A UDP port that the system chooses.
    static func datagrams(at address: IPv4Address) throws(SpeakerError) -> DatagramSocket {
        do {
            return try DatagramSocket(address: address, port: 0)
        } catch {
            throw SpeakerError(.cannotListen, "Cannot open a UDP port on \(address) (\(error.message)).")
        }
    }
}
