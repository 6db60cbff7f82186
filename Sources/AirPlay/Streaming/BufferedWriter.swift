internal import AirPlayWire
internal import MediaCore
internal import Synchronization

/// Sends the packets of a buffered stream as fast as the speaker reads them, on a thread of its own.
///
/// A speaker that stops reading is full or paused, not ill: there is no time limit here. A packet once begun is
/// finished before anything else, because the stream's framing depends on it.
final class BufferedWriter: Sendable {
    /// What came of an attempt to hand over a packet.
    enum Result: Sendable { case accepted, full, closed }

    /// Kept short: what the kernel holds is the only sound that a flush cannot recall.
    private static let sendBuffer: Int32 = 64 << 10
    /// Packets and bytes kept on this side of the socket.
    private static let queueBytes = 256 << 10
    private static let queuePackets = 1024

    private struct State {
        var queue = PacketQueue(bytes: queueBytes, packets: queuePackets)
        /// The number of the packet that will be begun next.
        var nextSequence: UInt32
        /// A writer was turned away and wants to be told of room.
        var wasFull = false
        var isClosed = false
    }

    private let socket: TCPSocket
    private let state: Lock<State>
    private let arrival = Signal()
    private let sent = Atomic<Int64>(0)
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameters:
    ///   - room: called on the writer's thread when packets fit again after `full`; must return at once.
    ///   - ended: called on the writer's thread when the speaker closes the connection.
    init(
        socket: TCPSocket, key: SecretBytes, format: StreamFormat, firstSequence: UInt32,
        room: @escaping @Sendable () -> Void, ended: @escaping @Sendable () -> Void
    ) {
        self.socket = socket
        socket.setSendBuffer(Self.sendBuffer)
        let packetizer = BufferedPacketizer(key: key, format: format, firstSequence: firstSequence)
        state = Lock(State(nextSequence: packetizer.nextSequence))
        // The thread keeps the writer until `close`.
        thread.withLock {
            $0 = WorkerThread.start(name: "airplay writer", priority: .elevated) {
                self.run(packetizer, room)
                let wasClosed = self.state.withLock { state in
                    defer { state.isClosed = true }
                    return state.isClosed
                }
                if !wasClosed { ended() }
            }
        }
    }

    /// Queues a packet. Never waits, never allocates.
    func write(_ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp) -> Result {
        guard packet.count <= BufferedPacketizer.payloadLimit else { return .accepted }
        let result = state.withLock { state -> Result in
            if state.isClosed { return .closed }
            if state.queue.append(packet, timestamp: timestamp) { return .accepted }
            state.wasFull = true
            return .full
        }
        if result == .accepted { arrival.raise() }
        return result
    }

    /// Drops every packet not yet begun; the number the next packet will carry.
    func dropQueued() -> UInt32 {
        state.withLock { state in
            state.queue.removeAll()
            return state.nextSequence
        }
    }

    /// Bytes handed to the kernel since the start.
    var sentBytes: Int64 { sent.load(ordering: .relaxed) }

    /// Packets not yet begun.
    var queuedPackets: Int { state.withLock { $0.queue.count } }

    /// Bytes that the speaker has not acknowledged.
    var unacknowledgedBytes: Int { socket.unacknowledgedBytes }

    /// Ends the connection and waits for the thread.
    func close() {
        state.withLock { $0.isClosed = true }
        socket.interrupt()
        arrival.raise()
        thread.withLock({ $0 })?.join()
    }

    private func run(_ first: BufferedPacketizer, _ room: () -> Void) {
        var packetizer = first
        var sound: [UInt8] = []
        var wire: [UInt8] = []
        sound.reserveCapacity(Int(UInt16.max))
        wire.reserveCapacity(Int(UInt16.max) + 1)
        while true {
            let (timestamp, isClosed, tellRoom) = state.withLock { state -> (RTPTimestamp?, Bool, Bool) in
                let timestamp = state.queue.take(into: &sound)
                if timestamp != nil {
                    state.nextSequence = (state.nextSequence + 1) % BufferedPacketizer.sequenceModulus
                }
                // Half empty before the writer is called back, so that it comes back seldom and with much.
                let tell =
                    state.wasFull && state.queue.byteCount <= Self.queueBytes / 2
                    && state.queue.count <= Self.queuePackets / 2
                if tell { state.wasFull = false }
                return (timestamp, state.isClosed, tell)
            }
            if isClosed { return }
            if tellRoom { room() }
            guard let timestamp else {
                arrival.wait()
                continue
            }
            wire.removeAll(keepingCapacity: true)
            _ = sound.withUnsafeBufferPointer { packetizer.append($0, timestamp: timestamp, to: &wire) }
            guard send(wire) else { return }
        }
    }

    /// The whole packet, however long it takes; false when the connection has ended.
    private func send(_ wire: [UInt8]) -> Bool {
        var offset = 0
        while offset < wire.count {
            switch wire.withUnsafeBytes({ socket.send(UnsafeRawBufferPointer(rebasing: $0[offset...])) }) {
            case .moved(let count):
                offset += count
                sent.add(Int64(count), ordering: .relaxed)
            case .blocked: _ = socket.waitUntilWritable(deadline: nil)
            case .ended: return false
            }
        }
        return true
    }
}
