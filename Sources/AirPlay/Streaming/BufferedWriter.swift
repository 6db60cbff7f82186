internal import AirPlayWire
internal import MediaCore
internal import Sockets
internal import Synchronization

/// Sends the packets of a buffered stream as fast as the speaker reads them and the link passes them, on a thread of its own.
///
/// A speaker that stops reading is full or paused, not ill: there is no time limit here. A packet once begun is
/// finished before anything else, because the stream's framing depends on it.
final class BufferedWriter: StreamWriter {
    /// Kept short: what the kernel holds is the only sound that a flush cannot recall.
    private static let sendBuffer: Int32 = 64 << 10

    private let socket: TCPSocket
    let store: PacketStore
    private let arrival = Signal()
    private let sent = Atomic<Int64>(0)
    private let read = Atomic<Int64>(0)
    private let isClosed = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameters:
    ///   - counters: where its counters begin.
    ///   - store: where packets come from; its numbering begins anew.
    ///   - room: called on the writer's thread when packets fit again; must return at once.
    ///   - ended: called on the writer's thread when the speaker closes the connection.
    init(
        socket: TCPSocket, key: SecretBytes, format: StreamFormat, counters: StreamCounters = .random(),
        store: PacketStore, room: @escaping @Sendable () -> Void, ended: @escaping @Sendable () -> Void
    ) throws(ExhaustionError) {
        self.socket = socket
        self.store = store
        socket.setSendBuffer(Self.sendBuffer)
        let packetizer = BufferedPacketizer(
            key: key, format: format, firstSequence: counters.sequence, firstNonce: counters.nonce)
        store.beginNumbering(at: packetizer.nextSequence)
        let duration = Duration.seconds(Double(format.framesPerPacket) / Double(format.sampleRate))
        // The thread keeps the writer until `close`.
        let worker = try WorkerThread.start(name: "airplay writer", priority: .elevated) {
            self.run(packetizer, lasting: duration, room)
            if !self.isClosed.exchange(true, ordering: .acquiringAndReleasing) { ended() }
        }
        thread.withLock { $0 = worker }
    }

    /// Tells the thread that there is something to send, from any thread.
    func wake() { arrival.raise() }

    /// A receiver that has no line plays nothing, whatever it holds.
    func halt() {}

    /// True once the connection has ended.
    var isOver: Bool { isClosed.load(ordering: .acquiring) }

    /// Bytes handed to the kernel since the start.
    var sentBytes: Int64 { sent.load(ordering: .relaxed) }

    /// Only what had to wait tells: the kernels at both ends take the rest from a speaker that has stopped.
    var lastRead: HostInstant? {
        let instant = read.load(ordering: .relaxed)
        return instant == 0 ? nil : HostInstant(nanoseconds: instant)
    }

    /// Bytes that the speaker has not acknowledged.
    var unacknowledgedBytes: Int { socket.unacknowledgedBytes }

    /// The shortest way there and back that the connection has seen.
    var shortestRoundTrip: Duration? { socket.shortestRoundTrip }

    /// Ends the connection and waits for the thread. The store keeps what it has.
    func close() {
        isClosed.store(true, ordering: .releasing)
        socket.interrupt()
        arrival.raise()
        thread.withLock({ $0 })?.join()
    }

    private func run(_ first: BufferedPacketizer, lasting duration: Duration, _ room: () -> Void) {
        var packetizer = first
        var window = DeliveryWindow()
        var sound: [UInt8] = []
        var wire: [UInt8] = []
        sound.reserveCapacity(Int(UInt16.max))
        wire.reserveCapacity(Int(UInt16.max) + 1)
        while !isClosed.load(ordering: .acquiring) {
            let timestamp = store.take(into: &sound)
            if store.takesRoomNotice() { room() }
            guard let timestamp else {
                arrival.wait()
                continue
            }
            wire.removeAll(keepingCapacity: true)
            _ = sound.withUnsafeBufferPointer { packetizer.append($0, timestamp: timestamp, to: &wire) }
            waitForWindow(&window, wire.count, lasting: duration)
            guard send(wire) else { return }
        }
    }

    /// Until so many bytes more leave the link free for the speaker's clock, or the connection is closed.
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
            // Nothing tells of an acknowledgement; the longer it takes, the rarer the looks.
            let pause = max(.milliseconds(2), (now - began) / 8)
            // What this takes back was raised for packets that the next round finds anyway.
            arrival.wait(until: now.advanced(by: pause))
            now = .now
        }
    }

    /// The whole packet, however long it takes; false when the connection has ended.
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
