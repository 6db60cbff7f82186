internal import MediaCore
internal import Sockets

extension SpeakerError {
    init(_ error: ExhaustionError) { self.init(.exhausted, "The speaker cannot continue: \(error.message).") }

    /// Returns the wakeup signal of a thread.
    static func signal() throws(SpeakerError) -> PollableSignal {
        do { return try PollableSignal() } catch { throw SpeakerError(error) }
    }

    /// Starts a thread of the speaker.
    static func thread(
        _ name: String, priority: WorkerThread.Priority = .normal, _ body: @escaping @Sendable () -> Void
    ) throws(SpeakerError) -> WorkerThread {
        do { return try WorkerThread.start(name: name, priority: priority, body) } catch { throw SpeakerError(error) }
    }

    /// Creates a polling thread of the speaker.
    static func pollingThread(
        _ name: String, priority: WorkerThread.Priority = .normal
    ) throws(SpeakerError) -> PollingThread {
        do { return try PollingThread(name: name, priority: priority) } catch { throw SpeakerError(error) }
    }

    /// Starts a polling thread.
    static func start(_ thread: PollingThread, _ body: @escaping @Sendable () -> Void) throws(SpeakerError) {
        do { try thread.start(body) } catch { throw SpeakerError(error) }
    }

    /// Opens a TCP socket; `listens` false only binds it. Port 0: the system chooses.
    static func listening(
        address: NetworkAddress, port: UInt16 = 0, listens: Bool = true
    ) throws(SpeakerError) -> TCPListener {
        do {
            return try TCPListener(address: address, port: port, listens: listens)
        } catch {
            let endpoint = NetworkEndpoint(address, port: port)
            guard error.code == .addressInUse else {
                throw SpeakerError(
                    .cannotListen,
                    "Cannot listen on \(endpoint) (\(error.message)); choose an address of this computer.")
            }
            throw SpeakerError(
                .cannotListen, "Another program listens on \(endpoint); choose another --address or stop it.")
        }
    }

    /// Opens a UDP socket on a port that the system chooses.
    static func datagrams(at address: NetworkAddress) throws(SpeakerError) -> DatagramSocket {
        do {
            return try DatagramSocket(address: address, port: 0)
        } catch {
            throw SpeakerError(.cannotListen, "Cannot open a UDP port on \(address) (\(error.message)).")
        }
    }
}
