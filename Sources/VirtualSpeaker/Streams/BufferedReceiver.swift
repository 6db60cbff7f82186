internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets
internal import Synchronization

/// Receives a buffered stream from its single TCP connection, limited by the writable space of the engine.
///
/// When the buffer is full it stops reading, and TCP flow control stops the sender. The owner must call `stop`: the
/// thread `speaker-data` keeps this object alive until then.
final class BufferedReceiver: Sendable {
    private let listener: TCPListener
    private let key: SecretBytes
    private let engine: PlayoutEngine
    private let quirks: SpeakerQuirks
    private let record: SpeakerRecord
    private let sender: NetworkAddress
    private let thread: PollingThread
    /// Whether `stop` resets the connection; stored before the thread is stopped.
    private let breaking = Atomic<Bool>(false)

    var port: UInt16 { listener.port }

    init(
        address: NetworkAddress, sender: NetworkAddress, key: SecretBytes, engine: PlayoutEngine, quirks: SpeakerQuirks,
        record: SpeakerRecord
    ) throws(SpeakerError) {
        listener = try SpeakerError.listening(address: address)
        thread = try SpeakerError.pollingThread("speaker-data")
        (self.sender, self.key, self.engine, self.quirks, self.record) = (sender, key, engine, quirks, record)
        try SpeakerError.start(thread) { [self] in run() }
    }

    /// Ends the thread and blocks until it has ended.
    ///
    /// - Parameter breaking: Whether the connection is reset instead of closed.
    func stop(breaking: Bool = false) {
        self.breaking.store(breaking, ordering: .releasing)
        thread.stop()
    }

    private func run() {
        guard let stream = accept() else { return }
        var unpacker = BufferedUnpacker(key: key)
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var pauses = ReadPauses(quirks)
        while !thread.isStopping {
            if let rest = pauses.restUntil(now: .now) {
                _ = Poller.wait(reading: [thread.wake.descriptor], until: rest)
                continue
            }
            let free = engine.freeBytes
            guard free > 0 else {
                _ = Poller.wait(reading: [thread.wake.descriptor, engine.room.descriptor], until: nil)
                engine.room.clear()
                continue
            }
            _ = Poller.wait(reading: [thread.wake.descriptor, stream.descriptor], until: pauses.next)
            switch stream.receiveNow(into: &buffer, limit: free) {
            case .nothing: continue
            case .ended: return
            case .bytes(let count):
                do {
                    let packets = try unpacker.open(buffer[..<count])
                    engine.insert(
                        packets.map {
                            StoredPacket(
                                sequence: $0.sequence, timestamp: $0.timestamp, source: $0.synchronizationSource,
                                audio: $0.audio)
                        })
                } catch {
                    record.record(.damaged(reason: error.message))
                    return
                }
            }
        }
        if breaking.load(ordering: .acquiring) { stream.breakOff() }
    }

    /// Blocks until the sender connects, or returns nil after `stop`. Connections from other addresses are closed.
    private func accept() -> TCPSocket? {
        while !thread.isStopping {
            _ = Poller.wait(reading: [thread.wake.descriptor, listener.descriptor], until: nil)
            if let stream = listener.accept(), stream.remote == sender { return stream }
            listener.restIfStarved(until: thread.wake)
        }
        return nil
    }
}

/// The schedule of the quirk `readPauses`.
private struct ReadPauses {
    private let pattern: (every: Duration, lasting: Duration)?
    /// When the next pause begins.
    private(set) var next: HostInstant?

    init(_ quirks: SpeakerQuirks) {
        pattern = quirks.readPauses
        next = pattern.map { HostInstant.now.advanced(by: $0.every) }
    }

    /// Returns the end of the current pause, or nil if there is none.
    mutating func restUntil(now: HostInstant) -> HostInstant? {
        guard let pattern, let begin = next, begin <= now else { return nil }
        let end = begin.advanced(by: pattern.lasting)
        if end > now { return end }
        next = now.advanced(by: pattern.every)
        return nil
    }
}
