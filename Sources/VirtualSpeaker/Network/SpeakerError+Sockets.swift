internal import MediaCore
internal import Sockets

extension SpeakerError {
    init(_ error: ExhaustionError) { self.init(.exhausted, "The speaker cannot go on: \(error.message).") }

    /// What wakes a thread of the speaker's.
    static func signal() throws(SpeakerError) -> PollableSignal {
        do { return try PollableSignal() } catch { throw SpeakerError(error) }
    }

    /// A thread of the speaker's.
    static func thread(
        _ name: String, priority: WorkerThread.Priority = .normal, _ body: @escaping @Sendable () -> Void
    ) throws(SpeakerError) -> WorkerThread {
        do { return try WorkerThread.start(name: name, priority: priority, body) } catch { throw SpeakerError(error) }
    }

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
