internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets
internal import Synchronization

/// Sends a realtime stream (type 96): packets a short while before they are heard, sync packets, and once more what
/// the receiver has missed.
///
/// Sync packets, requests and answers share one socket, because receivers ask where sync packets come from. The
/// thread keeps this object until `close`.
final class RealtimeSender: StreamWriter {
    /// How much sound the receiver holds; what bounds a pause and a jump, and what a network may delay.
    static let depth: Duration = .milliseconds(600)
    /// The queue holds at least this much more than the receiver needs from arrival to sound.
    private static let jitter: Duration = .milliseconds(150)
    /// Deeper than that a pause could not be called one.
    private static let deepest: Duration = .milliseconds(700)
    /// How far before it is heard each packet leaves.
    static func depth(arrivalToRender: Duration?) -> Duration {
        min(deepest, max(depth, (arrivalToRender ?? .zero) + jitter))
    }

    private static func packet(_ format: StreamFormat) -> Duration {
        .nanoseconds(Int64(format.framesPerPacket) * 1_000_000_000 / Int64(format.sampleRate))
    }

    /// The least that a datagram with a request has.
    private static let largestRequest = 64
    /// Requests read before the next packet's departure is looked at again.
    private static let requestShare = 16
    /// A request names at most what is kept; more would be somebody's joke.
    private static let packetsKept = 512

    /// Both ends of the stream.
    struct Ends: Sendable {
        var control: DatagramSocket
        var data: DatagramSocket
        var remote: IPv4Address
        var dataPort: UInt16
        var controlPort: UInt16
    }

    private struct Shared {
        var line: RealtimePacing.Line?
        /// Counts lines, stops included.
        var serial = 0
        var nextSequence: UInt16
        var nextTimestamp: RTPTimestamp?
        var resent = 0
    }

    let store: PacketStore
    let shortestRoundTrip: Duration? = nil
    let lastRead: HostInstant? = nil
    private let ends: Ends
    private let host: any HostClock
    private let format: StreamFormat
    private let shared: Lock<Shared>
    private let news: PollableSignal
    private let sent = Atomic<Int64>(0)
    private let isClosing = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameters:
    ///   - counters: where its counters begin.
    ///   - source: what RTP headers name: 0 with PTP timing.
    ///   - arrivalToRender: the shortest time that the receiver says it needs.
    ///   - host: this computer's clock.
    ///   - clock: the clock that the speaker plays by, as known now; takes no longer than a lock is held.
    ///   - room: called on the sender's thread when packets fit again; must return at once.
    init(
        ends: Ends, key: SecretBytes, format: StreamFormat, counters: StreamCounters = .random(), source: UInt32,
        arrivalToRender: Duration?,
        store: PacketStore, host: any HostClock = MonotonicClock(), clock: @escaping @Sendable () -> PTPTimeline?,
        room: @escaping @Sendable () -> Void
    ) throws(ExhaustionError) {
        news = try PollableSignal()
        self.host = host
        self.ends = ends
        self.format = format
        self.store = store
        let first = UInt16(truncatingIfNeeded: counters.sequence)
        shared = Lock(Shared(nextSequence: first))
        let depth = Self.depth(arrivalToRender: arrivalToRender)
        let worker = try WorkerThread.start(name: "airplay sender", priority: .elevated) {
            PollableSignal.requestPreciseWaits()
            var round = Round(
                pacing: RealtimePacing(sampleRate: format.sampleRate, depth: depth),
                packetizer: RealtimePacketizer(
                    key: key, source: source, firstSequence: first, firstNonce: counters.nonce),
                allowance: ResendAllowance(packet: Self.packet(format), queue: depth, at: host.now))
            self.run(&round, clock, room)
        }
        thread.withLock { $0 = worker }
    }

    /// What the thread alone owns.
    private struct Round {
        var pacing: RealtimePacing
        var packetizer: RealtimePacketizer
        var allowance: ResendAllowance
        var kept = RetransmitBuffer(capacity: RealtimeSender.packetsKept)
        var serial = 0
        var sound: [UInt8] = []
        var wire: [UInt8] = []
        var request = [UInt8](repeating: 0, count: RealtimeSender.largestRequest)
    }

    // MARK: From other threads

    func wake() { news.raise() }

    /// UDP has no other end that could hang up; the request channel says when the session is over.
    var isOver: Bool { isClosing.load(ordering: .acquiring) }

    var sentBytes: Int64 { sent.load(ordering: .relaxed) }

    /// Packets sent once more since the start.
    var resentPackets: Int { shared.withLock { $0.resent } }

    /// Sound lies on this line from now on.
    func play(_ line: RealtimePacing.Line) { change { $0 = line } }

    func halt() { change { $0 = nil } }

    private func change(_ body: (inout RealtimePacing.Line?) -> Void) {
        shared.withLock { shared in
            body(&shared.line)
            shared.serial += 1
        }
        news.raise()
    }

    /// The number and the timestamp of the packet that would come next; no timestamp before the first.
    var next: (sequence: UInt16, timestamp: RTPTimestamp?) {
        shared.withLock { ($0.nextSequence, $0.nextTimestamp) }
    }

    func close() {
        isClosing.store(true, ordering: .releasing)
        news.raise()
        thread.withLock({ $0 })?.join()
    }

    // MARK: The thread

    private func run(_ round: inout Round, _ clock: () -> PTPTimeline?, _ room: () -> Void) {
        while !isClosing.load(ordering: .acquiring) {
            let (line, serial) = shared.withLock { ($0.line, $0.serial) }
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
            case .leaveOut: _ = store.take(into: &round.sound)
            case .wait(let departure): rest(until: departure, round)
            case nil: rest(until: HostInstant(nanoseconds: .max), round)
            }
            if store.takesRoomNotice() { room() }
        }
    }

    private func rest(until departure: HostInstant, _ round: Round) {
        let deadline = round.pacing.line == nil ? nil : min(departure, round.pacing.nextSync)
        _ = news.wait(until: deadline.map { host.machineInstant(of: $0) }, orReadable: ends.control.descriptor)
    }

    private func sendNext(_ round: inout Round, at now: HostInstant) {
        // A flush may have emptied the store meanwhile; then a new line is on its way, too.
        guard let timestamp = store.take(into: &round.sound) else { return }
        let sequence = round.packetizer.nextSequence
        let isMarked = round.pacing.noteSent(at: now)
        round.wire.removeAll(keepingCapacity: true)
        round.sound.withUnsafeBufferPointer {
            round.packetizer.append($0, timestamp: timestamp, marked: isMarked, to: &round.wire)
        }
        round.kept.keep(round.wire, sequence: sequence)
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

    /// Answers requests that come from where sync packets go to, as the speaker named it, and nobody else's.
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
            guard round.allowance.take(at: host.now) else { return }
            ends.control.send(request.answer(packet), to: ends.remote, port: ends.controlPort)
            shared.withLock { $0.resent += 1 }
        }
    }
}
