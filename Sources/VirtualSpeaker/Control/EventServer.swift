internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets
internal import Synchronization

/// Sends events to the sender, which connects to a port and answers each request.
///
/// The first request is `updateInfo`, as from real receivers. The session of a sender that does not answer within
/// `answerLimit` ends. Callable from any thread. The owner must call `stop`: the thread `speaker-events` keeps this
/// object alive until then.
final class EventServer: Sendable {
    /// Time after which an unanswered event ends the session (25 to 30 s on tvOS, measured by others).
    private static let answerLimit: Duration = .seconds(25)
    /// Maximum number of queued requests; others are dropped.
    private static let queueLimit = 256

    private let listener: TCPListener
    private let sender: NetworkAddress
    /// When the port starts to listen; nil: never.
    private let opens: HostInstant?
    private let secret: SecretBytes
    private let thread: PollingThread
    /// Set by the thread, read by any thread.
    private let connected = Atomic<Bool>(false)
    private let connection = Signal()
    /// Requests not yet sent; appended by any thread, removed by the thread.
    private let outgoing = Lock<[PropertyList]>([])
    /// When the unanswered event was sent; nil if there is none.
    private let unanswered = Lock<HostInstant?>(nil)

    var port: UInt16 { listener.port }

    init(
        address: NetworkAddress, sender: NetworkAddress, secret: SecretBytes, greeting: PropertyList,
        quirks: SpeakerQuirks
    ) throws(SpeakerError) {
        listener = try SpeakerError.listening(address: address, listens: false)
        opens = quirks.hasNoEvents ? nil : .now.advanced(by: quirks.eventsAfter)
        thread = try SpeakerError.pollingThread("speaker-events")
        self.sender = sender
        self.secret = secret
        outgoing.withLock { $0 = [["type": "updateInfo", "value": greeting]] }
        try SpeakerError.start(thread) { [self] in run() }
    }

    func stop() { thread.stop() }

    /// Returns whether the sender has connected. Blocks until `deadline` if it has not.
    func isConnected(waitingUntil deadline: HostInstant) -> Bool {
        while !connected.load(ordering: .acquiring) {
            if !connection.wait(until: deadline) { return connected.load(ordering: .acquiring) }
        }
        return true
    }

    /// Queues a request to the sender. It is sent once the sender has connected.
    func send(_ body: PropertyList) {
        outgoing.withLock { if $0.count < Self.queueLimit { $0.append(body) } }
        thread.wake.raise()
    }

    /// Whether an event has been unanswered for longer than `answerLimit`.
    var isAbandoned: Bool { unanswered.withLock { $0.map { HostInstant.now - $0 > Self.answerLimit } ?? false } }

    private func run() {
        guard let stream = accept() else { return }
        connected.store(true, ordering: .releasing)
        connection.raise()
        let keys = ChannelKeys.events(from: secret).reversed
        var opener = HAPFrameOpener(key: keys.read)
        var sealer = HAPFrameSealer(key: keys.write)
        var parser = RTSPParser()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var sequence = 0
        var waiting = false
        while !thread.isStopping {
            // One outstanding request at a time.
            if !waiting, let body = removeNext() {
                let deadline = HostInstant.now.advanced(by: .seconds(2))
                guard stream.sendCompletely(sealer.seal(Self.request(body, sequence)), until: deadline) else { return }
                sequence += 1
                waiting = true
                unanswered.withLock { $0 = .now }
            }
            _ = Poller.wait(reading: [thread.wake.descriptor, stream.descriptor], until: nil)
            thread.wake.clear()
            switch stream.receiveNow(into: &buffer, limit: buffer.count) {
            case .nothing: continue
            case .ended: return
            case .bytes(let count):
                do {
                    parser.append(try opener.open(buffer[..<count]))
                    while try parser.next() != nil {
                        waiting = false
                        unanswered.withLock { $0 = nil }
                    }
                } catch { return }
            }
        }
        // Sends a remote command queued just before `stop`; at most 100 ms.
        if !waiting, let body = removeNext() {
            let deadline = HostInstant.now.advanced(by: .milliseconds(100))
            _ = stream.sendCompletely(sealer.seal(Self.request(body, sequence)), until: deadline)
        }
    }

    private static func request(_ body: PropertyList, _ sequence: Int) -> [UInt8] {
        let headers: RTSPHeaders = ["CSeq": "\(sequence)", "Content-Type": "application/x-apple-binary-plist"]
        return RTSPRequest("POST", "/command", headers: headers, body: body.binary()).encoded()
    }

    private func removeNext() -> PropertyList? { outgoing.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

    private func accept() -> TCPSocket? {
        while !thread.isStopping, opens.map({ $0 > .now }) ?? true {
            _ = Poller.wait(reading: [thread.wake.descriptor], until: opens)
            thread.wake.clear()
        }
        guard opens != nil, listener.listen() else { return nil }
        while !thread.isStopping {
            _ = Poller.wait(reading: [thread.wake.descriptor, listener.descriptor], until: nil)
            thread.wake.clear()
            if let stream = listener.accept(), stream.remote == sender { return stream }
            listener.restIfStarved(until: thread.wake)
        }
        return nil
    }
}
