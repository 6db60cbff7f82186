internal import MediaCore
internal import PTP
internal import Sockets

/// Follows a sender's time from its Announce and Follow_Up messages without Delay_Req, as nqptp does.
///
/// Listens on the event and general ports of the speaker's address. Callable from any thread; only `stop` blocks. The
/// owner must call `stop`: the thread `speaker-ptp` keeps this object alive until then.
final class PTPFollower: SenderClock, Sendable {
    private struct State {
        var filter = OffsetFilter()
        var grandmaster: UInt64?
    }

    /// Written by the thread, read by any thread.
    private let state = Lock(State())
    private let sockets: PTPSockets
    private let sender: NetworkAddress
    private let oscillator: Oscillator
    private let quirks: SpeakerQuirks
    private let record: SpeakerRecord
    private let identity: UInt64
    private let thread: PollingThread
    /// Follow_Up messages before this instant are ignored (quirk `lateClock`).
    private let believingFrom: HostInstant

    let namesClocks = true

    /// - Parameter sender: The source of the time: the peer of the control connection, as in nqptp.
    init(
        sockets: PTPSockets, sender: NetworkAddress, oscillator: Oscillator, quirks: SpeakerQuirks, identity: UInt64,
        record: SpeakerRecord
    ) throws(SpeakerError) {
        self.sockets = sockets
        self.sender = sender
        self.oscillator = oscillator
        self.quirks = quirks
        self.identity = identity
        self.record = record
        thread = try SpeakerError.pollingThread("speaker-ptp", priority: .elevated)
        believingFrom =
            quirks.ignoresPTP ? HostInstant(nanoseconds: .max) : HostInstant.now.advanced(by: quirks.lateClock)
        // Not on the thread: it may start after the sender's next Announce, and would discard it. The
        // one after that is a second later.
        var buffer = [UInt8](repeating: 0, count: 2048)
        sockets.drain(into: &buffer)
        try SpeakerError.start(thread) { [self] in run() }
    }

    func stop() { thread.stop() }

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
        while !thread.isStopping {
            let deadline = [awakening.next, probes.next].compactMap { $0 }.min()
            let pause = HostInstant.now.advanced(by: .milliseconds(100))
            _ = Poller.wait(
                reading: [thread.wake.descriptor, sockets.event.descriptor, sockets.general.descriptor],
                until: deadline.map { min($0, pause) } ?? pause)
            // Only messages from the sender's address and the correct source port are accepted.
            for _ in 0..<DatagramSocket.burst {
                guard let datagram = sockets.event.receive(into: &buffer) else { break }
                guard datagram.source == sender, datagram.sourcePort == sockets.event.port else { continue }
                if let message = PTPMessage(buffer[..<datagram.count]), case .sync = message.content {
                    probes.recordSync(at: datagram.received)
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
                record.record(.clock(locked: locked, offset: .nanoseconds(offset), grandmaster: master))
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
            // The correction is in nanoseconds × 2¹⁶ (IEEE 1588-2008, section 13.3.2.7).
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
    /// Discards the messages received without a follower.
    func drain(into buffer: inout [UInt8]) {
        event.discard(into: &buffer)
        general.discard(into: &buffer)
    }
}

/// The two Announce messages with which nqptp triggers a master: one with a better priority
/// than its own, one with a worse.
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
        // Class 248: the default, if no other class applies (IEEE 1588-2008, table 5).
        let quality = GrandmasterQuality(
            priority1: due.priority, clockClass: 248, accuracy: 0xFE, variance: 0x436A, priority2: due.priority2,
            identity: identity, timeSource: 0xA0)
        writer.announce(quality, sequence: sequence)
        return writer.bytes
    }
}

/// The schedule of Delay_Req, eight a second from one second after the first Sync, for senders that wait for requests.
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

    mutating func recordSync(at instant: HostInstant) {
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
