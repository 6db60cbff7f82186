internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import Sockets
internal import Synchronization

/// Sends the packets of a buffered stream as fast as speaker and link accept them, on a separate thread.
///
/// A speaker that stops reading is full or paused, so there is no timeout. A packet once started is always completed,
/// because the stream's framing depends on it.
final class BufferedWriter: StreamWriter {
    /// Small, because data in the kernel's send buffer cannot be flushed.
    private static let sendBuffer: Int32 = 64 << 10

    private let socket: TCPSocket
    let store: PacketStore
    private let arrival = Signal()
    /// Bytes accepted by the kernel; written by the writer thread.
    private let sent = Atomic<Int64>(0)
    /// The instant of `lastRead` in nanoseconds, 0 before the first; written by the writer thread.
    private let read = Atomic<Int64>(0)
    /// Set by `close` on any thread, and by the writer thread at its end.
    private let isClosed = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - counters: The initial sequence number and nonce.
    ///   - store: The source of packets; its sequence numbers are reset.
    ///   - onWritable: Called on the writer thread once packets can be appended again; must not block.
    ///   - ended: Called on the writer thread when the speaker closes the connection.
    /// - Throws: `ExhaustionError` if the system provides no thread.
    init(
        socket: TCPSocket, key: SecretBytes, format: StreamFormat, counters: StreamCounters = .random(),
        store: PacketStore, onWritable: @escaping @Sendable () -> Void, ended: @escaping @Sendable () -> Void
    ) throws(ExhaustionError) {
        self.socket = socket
        self.store = store
        socket.setSendBuffer(Self.sendBuffer)
        let packetizer = BufferedPacketizer(
            key: key, format: format, firstSequence: counters.sequence, firstNonce: counters.nonce)
        store.beginNumbering(at: packetizer.nextSequence)
        let duration = Duration.seconds(Double(format.framesPerPacket) / Double(format.sampleRate))
        // The thread retains the writer until `close`.
        let worker = try WorkerThread.start(name: "airplay writer", priority: .elevated) {
            self.run(packetizer, lasting: duration, onWritable)
            if !self.isClosed.exchange(true, ordering: .acquiringAndReleasing) { ended() }
        }
        thread.withLock { $0 = worker }
    }

    /// Wakes the thread for new packets. Any thread.
    func wake() { arrival.raise() }

    /// Does nothing: a receiver without an anchor does not play its buffer.
    func halt() {}

    /// Whether the connection has ended.
    var isOver: Bool { isClosed.load(ordering: .acquiring) }

    /// The number of bytes passed to the kernel since the start.
    var sentBytes: Int64 { sent.load(ordering: .relaxed) }

    /// When the speaker last read a packet that had to wait. Other sends prove nothing: the kernel buffers of both ends
    /// accept them.
    var lastRead: HostInstant? {
        let instant = read.load(ordering: .relaxed)
        return instant == 0 ? nil : HostInstant(nanoseconds: instant)
    }

    /// The number of bytes that the speaker's kernel has not acknowledged.
    var unacknowledgedBytes: Int { socket.unacknowledgedBytes }

    /// The shortest round trip of the connection.
    var shortestRoundTrip: Duration? { socket.shortestRoundTrip }

    /// Closes the connection and joins the thread. The store is kept.
    func close() {
        isClosed.store(true, ordering: .releasing)
        socket.interrupt()
        arrival.raise()
        thread.withLock({ $0 })?.join()
    }

    private func run(_ first: BufferedPacketizer, lasting duration: Duration, _ onWritable: () -> Void) {
        var packetizer = first
        var window = DeliveryWindow()
        var audio: [UInt8] = []
        var wire: [UInt8] = []
        audio.reserveCapacity(Int(UInt16.max))
        wire.reserveCapacity(Int(UInt16.max) + 1)
        while !isClosed.load(ordering: .acquiring) {
            let timestamp = store.removeNext(into: &audio)
            if store.shouldSignalWritable() { onWritable() }
            guard let timestamp else {
                arrival.wait()
                continue
            }
            wire.removeAll(keepingCapacity: true)
            _ = audio.withUnsafeBufferPointer { packetizer.append($0, timestamp: timestamp, to: &wire) }
            waitForWindow(&window, wire.count, lasting: duration)
            guard send(wire) else { return }
        }
    }

    /// Blocks until the window admits the packet, `longestWait` has passed, or the connection is closed.
    private func waitForWindow(_ window: inout DeliveryWindow, _ count: Int, lasting duration: Duration) {
        guard let shortest = socket.shortestRoundTrip else { return }
        let began = HostInstant.now
        var now = began
        while !isClosed.load(ordering: .acquiring), now - began < DeliveryWindow.longestWait {
            if window.admits(
                count, lasting: duration, sent: sentBytes, underWay: unacknowledgedBytes, shortest: shortest, at: now)
            {
                return
            }
            // Acknowledgements cause no event; the poll interval grows with the wait.
            let pause = max(.milliseconds(2), (now - began) / 8)
            // Consuming the signal is harmless: the next iteration finds the packets it was raised for.
            arrival.wait(until: now.advanced(by: pause))
            now = .now
        }
    }

    /// Sends the whole packet without a timeout. Returns false if the connection has ended.
    private func send(_ wire: [UInt8]) -> Bool {
        var offset = 0
        var hasWaited = false
        while offset < wire.count {
            switch wire.withUnsafeBytes({ socket.send(UnsafeRawBufferPointer(rebasing: $0[offset...])) }) {
            case .moved(let count):
                offset += count
                sent.add(Int64(count), ordering: .relaxed)
                if hasWaited { read.store(HostInstant.now.nanoseconds, ordering: .relaxed) }
                hasWaited = false
            case .blocked:
                hasWaited = true
                _ = socket.waitUntilWritable(deadline: nil)
            case .ended: return false
            }
        }
        return true
    }
}
