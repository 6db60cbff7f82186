package import AirPlayWire
package import MediaCore
package import PTP
package import Sockets
internal import Synchronization

/// Makes the RTP packets of a realtime stream.
package protocol StreamPacketizer: Sendable {
    var nextSequence: UInt16 { get }
    /// Appends one packet to a reused buffer.
    mutating func append(
        _ audio: UnsafeBufferPointer<UInt8>, timestamp: RTPTimestamp, marked: Bool, to out: inout [UInt8])
}

extension RealtimePacketizer: StreamPacketizer {}

/// Sends a realtime stream: packets shortly before they are heard, sync packets, and retransmissions.
///
/// Sync packets, requests and responses share one socket, because receivers send requests to the source of sync
/// packets. The thread retains this object until `close`.
package final class RealtimeSender: StreamWriter {
    /// The nominal queue depth. It bounds the latency of pause and seek, and the tolerated network delay.
    package static let depth: Duration = .milliseconds(600)
    /// Minimum margin beyond the receiver's own processing time.
    private static let jitter: Duration = .milliseconds(150)
    /// A greater depth would delay a pause noticeably.
    private static let deepest: Duration = .milliseconds(700)
    /// Returns how long before it is heard each packet is sent.
    package static func depth(arrivalToRender: Duration?) -> Duration {
        min(deepest, max(depth, (arrivalToRender ?? .zero) + jitter))
    }

    private static func packet(_ format: StreamFormat) -> Duration {
        .nanoseconds(Int64(format.framesPerPacket) * 1_000_000_000 / Int64(format.sampleRate))
    }

    /// Buffer size for a request datagram.
    private static let largestRequest = 64
    /// Maximum number of requests handled between two packets.
    private static let requestShare = 16
    /// The number of packets kept for retransmission, and the maximum per request.
    private static let packetsKept = 512

    /// The sockets and the addresses of the stream.
    package struct Ends: Sendable {
        package var control: DatagramSocket
        package var data: DatagramSocket
        package var remote: NetworkAddress
        package var dataPort: UInt16
        package var controlPort: UInt16

        package init(
            control: DatagramSocket, data: DatagramSocket, remote: NetworkAddress, dataPort: UInt16, controlPort: UInt16
        ) {
            (self.control, self.data, self.remote) = (control, data, remote)
            (self.dataPort, self.controlPort) = (dataPort, controlPort)
        }
    }

    /// State shared between threads, guarded by the lock `shared`.
    private struct Shared {
        var anchor: RealtimePacing.Anchor?
        /// Incremented with each new anchor and each stop.
        var serial = 0
        var nextSequence: UInt16
        var nextTimestamp: RTPTimestamp?
        var resent = 0
    }

    package let store: PacketStore
    package let shortestRoundTrip: Duration? = nil
    package let lastRead: HostInstant? = nil
    private let ends: Ends
    private let host: any HostClock
    private let format: StreamFormat
    private let shared: Lock<Shared>
    private let wakeSignal: PollableSignal
    /// Bytes sent; written by the sender thread.
    private let sent = Atomic<Int64>(0)
    /// Set by `close` on any thread.
    private let isClosing = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - packetizer: Makes the packets, from its first sequence number on.
    ///   - depth: How long before it is heard each packet is sent.
    ///   - host: This computer's clock.
    ///   - clock: Returns the speaker's clock as currently known; takes no longer than a lock is held.
    ///   - onWritable: Called on the sender thread once packets can be appended again; must not block.
    /// - Throws: `ExhaustionError` if the system provides no thread or descriptor.
    package init(
        ends: Ends, packetizer: any StreamPacketizer, format: StreamFormat, depth: Duration,
        store: PacketStore, host: any HostClock = MonotonicClock(), clock: @escaping @Sendable () -> PTPTimeline?,
        onWritable: @escaping @Sendable () -> Void
    ) throws(ExhaustionError) {
        wakeSignal = try PollableSignal()
        self.host = host
        self.ends = ends
        self.format = format
        self.store = store
        shared = Lock(Shared(nextSequence: packetizer.nextSequence))
        let worker = try WorkerThread.start(name: "airplay sender", priority: .elevated) {
            PollableSignal.requestPreciseWaits()
            var round = Round(
                pacing: RealtimePacing(sampleRate: format.sampleRate, depth: depth),
                packetizer: packetizer,
                allowance: ResendAllowance(packet: Self.packet(format), queue: depth, at: host.now))
            self.run(&round, clock, onWritable)
        }
        thread.withLock { $0 = worker }
    }

    /// State used only by the sender thread.
    private struct Round {
        var pacing: RealtimePacing
        var packetizer: any StreamPacketizer
        var allowance: ResendAllowance
        var kept = RetransmitBuffer(capacity: RealtimeSender.packetsKept)
        var serial = 0
        var audio: [UInt8] = []
        var wire: [UInt8] = []
        var request = [UInt8](repeating: 0, count: RealtimeSender.largestRequest)
    }

    // MARK: From other threads

    package func wake() { wakeSignal.raise() }

    /// Whether `close` was called: UDP has no connection that could end. The request channel detects the end of the
    /// session.
    package var isOver: Bool { isClosing.load(ordering: .acquiring) }

    package var sentBytes: Int64 { sent.load(ordering: .relaxed) }

    /// The number of retransmitted packets since the start.
    package var resentPackets: Int { shared.withLock { $0.resent } }

    /// Sets the anchor and returns true. Any thread.
    @discardableResult
    package func play(_ line: RealtimePacing.Anchor) -> Bool {
        change { $0 = line }
        return true
    }

    package func halt() { change { $0 = nil } }

    private func change(_ body: (inout RealtimePacing.Anchor?) -> Void) {
        shared.withLock { shared in
            body(&shared.anchor)
            shared.serial += 1
        }
        wakeSignal.raise()
    }

    /// The sequence number and timestamp of the next packet; no timestamp before the first.
    package var next: (sequence: UInt16, timestamp: RTPTimestamp?) {
        shared.withLock { ($0.nextSequence, $0.nextTimestamp) }
    }

    package func stop() -> (sequence: UInt16, timestamp: RTPTimestamp?)? {
        halt()
        return next
    }

    package func close() {
        isClosing.store(true, ordering: .releasing)
        wakeSignal.raise()
        thread.withLock({ $0 })?.join()
    }

    // MARK: The thread

    private func run(_ round: inout Round, _ clock: () -> PTPTimeline?, _ onWritable: () -> Void) {
        while !isClosing.load(ordering: .acquiring) {
            let (line, serial) = shared.withLock { ($0.anchor, $0.serial) }
            if let timeline = clock() { round.pacing.mapping = timeline.mapping }
            if serial != round.serial {
                round.serial = serial
                round.pacing.begin(line, at: host.now)
            }
            answerRequests(&round)
            let now = host.now
            if let sync = round.pacing.sync(at: now) { send(sync, through: ends.control, to: ends.controlPort) }
            let verdict = store.nextTimestamp.map { round.pacing.verdict(on: $0, at: now) }
            switch verdict {
            case .send: sendNext(&round, at: now)
            case .leaveOut: _ = store.removeNext(into: &round.audio)
            case .wait(let departure): rest(until: departure, round)
            case nil: rest(until: HostInstant(nanoseconds: .max), round)
            }
            if store.shouldSignalWritable() { onWritable() }
        }
    }

    private func rest(until departure: HostInstant, _ round: Round) {
        let deadline = round.pacing.anchor == nil ? nil : min(departure, round.pacing.nextSync)
        _ = wakeSignal.wait(until: deadline.map { host.machineInstant(of: $0) }, orReadable: ends.control.descriptor)
    }

    private func sendNext(_ round: inout Round, at now: HostInstant) {
        // A flush may have emptied the store concurrently; a new anchor follows then.
        guard let timestamp = store.removeNext(into: &round.audio) else { return }
        let sequence = round.packetizer.nextSequence
        let hasMarker = round.pacing.recordSent(at: now)
        round.wire.removeAll(keepingCapacity: true)
        round.audio.withUnsafeBufferPointer {
            round.packetizer.append($0, timestamp: timestamp, marked: hasMarker, to: &round.wire)
        }
        round.kept.store(round.wire, sequence: sequence)
        send(round.wire, through: ends.data, to: ends.dataPort)
        let following = timestamp.advanced(byFrames: Int64(format.framesPerPacket))
        shared.withLock {
            $0.nextSequence = sequence &+ 1
            $0.nextTimestamp = following
        }
    }

    private func send(_ bytes: [UInt8], through socket: DatagramSocket, to port: UInt16) {
        socket.send(bytes, to: ends.remote, port: port)
        sent.add(Int64(bytes.count), ordering: .relaxed)
    }

    /// Answers retransmit requests that come from the control port in the speaker's SETUP response; others are ignored.
    private func answerRequests(_ round: inout Round) {
        for _ in 0..<Self.requestShare {
            guard !isOver, let datagram = ends.control.receive(into: &round.request) else { return }
            guard datagram.source == ends.remote, datagram.sourcePort == ends.controlPort,
                let request = ResendRequest(Array(round.request[..<datagram.count]))
            else { continue }
            answer(request, &round)
        }
    }

    private func answer(_ request: ResendRequest, _ round: inout Round) {
        for offset in 0..<min(Int(request.count), Self.packetsKept) {
            let sequence = request.firstMissing &+ UInt16(truncatingIfNeeded: offset)
            guard let packet = round.kept.packet(sequence) else { continue }
            guard round.allowance.consumeToken(at: host.now) else { return }
            ends.control.send(request.answer(packet), to: ends.remote, port: ends.controlPort)
            shared.withLock { $0.resent += 1 }
        }
    }
}
