internal import MediaCore
internal import PTP
internal import Sockets
internal import Synchronization

/// Learns a sender's time from its Announce and Follow_Up messages and asks nothing, as nqptp does.
///
/// Listens on the event and general ports of the speaker's own address. A thread of its own does the work; all
/// methods may be called from any thread and return at once, except `stop`, which the owner must call: the thread
/// keeps this object alive until then.
final class PTPFollower: SenderClock, Sendable {
    private struct State {
        var filter = OffsetFilter()
        var grandmaster: UInt64?
        var isStalled = false
    }

    private let state = Lock(State())
    private let sockets: PTPSockets
    private let sender: IPv4Address
    private let oscillator: Oscillator
    private let quirks: SpeakerQuirks
    private let record: SpeakerRecord
    private let identity: UInt64
    private let wakeup: PollableSignal
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)
    /// Follow_Up messages before this moment are not believed ("late clock").
    private let believingFrom: HostInstant

    let namesClocks = true

    /// - Parameter sender: where the time comes from: the peer of the request connection, as for nqptp.
    init(
        sockets: PTPSockets, sender: IPv4Address, oscillator: Oscillator, quirks: SpeakerQuirks, identity: UInt64,
        record: SpeakerRecord
    ) throws(SpeakerError) {
        self.sockets = sockets
        self.sender = sender
        self.oscillator = oscillator
        self.quirks = quirks
        self.identity = identity
        self.record = record
        wakeup = try SpeakerError.signal()
        believingFrom = HostInstant.now.advanced(by: quirks.lateClock)
        // Here and not on the thread: it may start later than the sender's next Announce comes, a second before the
        // one after that.
        var buffer = [UInt8](repeating: 0, count: 2048)
        sockets.drain(into: &buffer)
        let worker = try SpeakerError.thread("speaker-ptp", priority: .elevated) { [self] in run() }
        thread.withLock { $0 = worker }
    }

    func stop() {
        stopping.store(true, ordering: .releasing)
        wakeup.raise()
        thread.withLock { $0 }?.join()
    }

    var grandmaster: UInt64? { state.withLock { $0.grandmaster } }

    var isLocked: Bool {
        let now = oscillator.speakerInstant(at: .now)
        return state.withLock { $0.grandmaster != nil && $0.filter.isLocked(at: now) }
    }

    func hostInstant(of instant: PTPInstant) -> HostInstant? {
        let now = oscillator.speakerInstant(at: .now)
        let local = state.withLock { state in
            state.filter.isLocked(at: now) ? state.filter.speakerInstant(of: instant) : nil
        }
        return local.map { oscillator.hostInstant(at: $0) }
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 2048)
        var awakening = Awakening(identity: ClockIdentity(rawValue: identity))
        var probes = ProbeSchedule(isOn: quirks.probes, lasting: quirks.probesStopAfter)
        var wasLocked = false
        while !stopping.load(ordering: .acquiring) {
            let deadline = [awakening.next, probes.next].compactMap { $0 }.min()
            let pause = HostInstant.now.advanced(by: .milliseconds(100))
            _ = Poller.wait(
                reading: [wakeup.descriptor, sockets.event.descriptor, sockets.general.descriptor],
                until: deadline.map { min($0, pause) } ?? pause)
            // Nothing but the sender's own address and the right source port counts.
            for _ in 0..<DatagramSocket.burst {
                guard let datagram = sockets.event.receive(into: &buffer) else { break }
                guard datagram.source == sender, datagram.sourcePort == sockets.event.port else { continue }
                if let message = PTPMessage(buffer[..<datagram.count]), case .sync = message.content {
                    probes.noteSync(at: datagram.received)
                }
            }
            for _ in 0..<DatagramSocket.burst {
                guard let datagram = sockets.general.receive(into: &buffer) else { break }
                guard datagram.source == sender, datagram.sourcePort == sockets.general.port,
                    let message = PTPMessage(buffer[..<datagram.count])
                else { continue }
                handle(message, received: datagram.received, &awakening)
            }
            let now = HostInstant.now
            if let bytes = awakening.message(at: now) {
                sockets.general.send(bytes, to: sender, port: sockets.general.port)
            }
            if let bytes = probes.message(at: now, identity: identity) {
                sockets.event.send(bytes, to: sender, port: sockets.event.port)
            }
            let locked = isLocked
            if locked != wasLocked {
                wasLocked = locked
                let (offset, master) = state.withLock { ($0.filter.offset, $0.grandmaster) }
                record.note(.clock(locked: locked, offset: .nanoseconds(offset), grandmaster: master))
            }
        }
    }

    private func handle(_ message: PTPMessage, received: HostInstant, _ awakening: inout Awakening) {
        switch message.content {
        case .announce(let quality, _):
            let isNew = state.withLock { state in
                guard state.grandmaster != quality.identity.rawValue else { return false }
                state.grandmaster = quality.identity.rawValue
                state.filter.reset()
                return true
            }
            if isNew { awakening.schedule(against: quality, at: received) }
        case .followUp(let precise):
            guard received >= believingFrom, let origin = precise.instant else { return }
            // Correction is nanoseconds × 2¹⁶ (IEEE 1588-2008, section 13.3.2.7).
            let corrected = origin.advanced(by: .nanoseconds(message.header.correction >> 16))
            let arrival = oscillator.speakerInstant(at: received)
            state.withLock { state in
                guard state.grandmaster != nil else { return }
                state.filter.observe(origin: corrected, arrival: arrival)
            }
        case .sync, .delayRequest, .peerDelayRequest, .delayResponse, .peerDelayResponse,
            .peerDelayResponseFollowUp, .signaling:
            break
        }
    }
}

extension PTPSockets {
    /// Throws away what came while nobody followed.
    func drain(into buffer: inout [UInt8]) {
        event.discard(into: &buffer)
        general.discard(into: &buffer)
    }
}

/// The two Announce messages with which nqptp wakes a master: one slightly better, one slightly worse than its own.
private struct Awakening {
    private var writer: PTPMessageWriter
    private let identity: ClockIdentity
    private var queue: [(instant: HostInstant, priority: UInt8, priority2: UInt8)] = []
    private var sequence: UInt16 = 0

    init(identity: ClockIdentity) {
        self.identity = identity
        writer = PTPMessageWriter(identity: identity)
    }

    var next: HostInstant? { queue.first?.instant }

    mutating func schedule(against quality: GrandmasterQuality, at instant: HostInstant) {
        queue = [
            (instant, quality.priority1 &- 1, quality.priority2),
            (instant.advanced(by: .milliseconds(150)), quality.priority1 &+ 1, quality.priority2),
        ]
    }

    mutating func message(at now: HostInstant) -> [UInt8]? {
        guard let due = queue.first, due.instant <= now else { return nil }
        queue.removeFirst()
        sequence &+= 1
        // Class 248: a clock that nobody trusts (IEEE 1588-2008, table 5).
        let quality = GrandmasterQuality(
            priority1: due.priority, clockClass: 248, accuracy: 0xFE, variance: 0x436A, priority2: due.priority2,
            identity: identity, timeSource: 0xA0)
        writer.announce(quality, sequence: sequence)
        return writer.bytes
    }
}

/// Eight Delay_Req a second, from one second after the first Sync, for senders that wait to be asked.
private struct ProbeSchedule {
    private let isOn: Bool
    private let lasting: Duration?
    private var first: HostInstant?
    private(set) var next: HostInstant?
    private var sequence: UInt16 = 0

    init(isOn: Bool, lasting: Duration?) {
        self.isOn = isOn
        self.lasting = lasting
    }

    mutating func noteSync(at instant: HostInstant) {
        if isOn, next == nil { next = instant.advanced(by: .seconds(1)) }
    }

    mutating func message(at now: HostInstant, identity: UInt64) -> [UInt8]? {
        guard let due = next, due <= now else { return nil }
        first = first ?? now
        if let lasting, let first, now - first >= lasting {
            next = HostInstant(nanoseconds: .max)
            return nil
        }
        next = now.advanced(by: .milliseconds(125))
        sequence &+= 1
        var writer = PTPMessageWriter(identity: ClockIdentity(rawValue: identity))
        writer.request(.delayRequest, sequence: sequence)
        return writer.bytes
    }
}
