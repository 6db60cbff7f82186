internal import MediaCore
internal import PTP
internal import Sockets

/// The clock of a speaker that acts as grandmaster; audio is placed by it alone.
///
/// It follows no other clock, sends Announce, sends Sync and Follow_Up eight times a second, and answers
/// Delay_Req. Callable from any thread; only `stop` blocks. The owner must call `stop`: the thread `speaker-ptp`
/// keeps this object alive until then.
final class OwnClock: SenderClock, Sendable {
    /// The Announce interval of HomePods (measured by others). A sender with the priorities of a
    /// telephone would win the election.
    private static let announceInterval: Duration = .milliseconds(250)
    private static let syncInterval: Duration = .milliseconds(125)
    /// A shy clock is silent while the last Sync of another master is younger than this.
    private static let shyness: Duration = .seconds(1)
    /// Offset from the host clock in nanoseconds, 31,556,952 s: the two time scales are unrelated.
    private static let farAway: Int64 = 31_556_952_000_000_000

    private let sockets: PTPSockets
    private let sender: NetworkAddress
    private let oscillator: Oscillator
    private let quirks: SpeakerQuirks
    private let manner: SpeakerQuirks.OwnClockManner
    private let record: SpeakerRecord
    private let identity: UInt64
    private let began = HostInstant.now
    private let thread: PollingThread

    let namesClocks = true
    let isLocked = true
    var grandmaster: UInt64? { identity }
    var deviceOscillator: Oscillator? { oscillator }

    /// - Parameter sender: The address to which the time is sent.
    init(
        sockets: PTPSockets, sender: NetworkAddress, oscillator: Oscillator, quirks: SpeakerQuirks,
        manner: SpeakerQuirks.OwnClockManner, identity: UInt64, record: SpeakerRecord
    ) throws(SpeakerError) {
        self.sockets = sockets
        self.sender = sender
        self.oscillator = oscillator
        self.quirks = quirks
        self.manner = manner
        self.identity = identity
        self.record = record
        thread = try SpeakerError.pollingThread("speaker-ptp", priority: .elevated)
        record.record(.clock(locked: true, offset: .zero, grandmaster: identity))
        try SpeakerError.start(thread) { [self] in run() }
    }

    func stop() { thread.stop() }

    func hostInstant(of instant: PTPInstant) -> HostInstant? {
        oscillator.hostInstant(at: SpeakerInstant(nanoseconds: instant.nanoseconds &- offset(at: .now)))
    }

    private func instant(at host: HostInstant) -> PTPInstant {
        PTPInstant(nanoseconds: oscillator.speakerInstant(at: host).nanoseconds &+ offset(at: host))
    }

    /// The clock minus its oscillator in nanoseconds, including the step of `clockStep`.
    private func offset(at host: HostInstant) -> Int64 {
        guard let step = quirks.clockStep, host - began >= step.after else { return Self.farAway }
        return Self.farAway + step.by.wholeNanoseconds
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 2048)
        var writer = PTPMessageWriter(identity: ClockIdentity(rawValue: identity))
        var (announces, syncs): (UInt16, UInt16) = (0, 0)
        var (nextAnnounce, nextSync) = (began, began)
        var foreignSync: HostInstant?
        while !thread.isStopping {
            let now = HostInstant.now
            let isSilent =
                (quirks.clockStopsAfter.map { now - began >= $0 } ?? false)
                || (manner == .shy && (foreignSync.map { now - $0 < Self.shyness } ?? (now - began < Self.shyness)))
            if now >= nextAnnounce {
                nextAnnounce = now.advanced(by: Self.announceInterval)
                announces &+= 1
                writer.announce(
                    GrandmasterQuality(
                        priority1: 248, clockClass: 248, accuracy: 0x21, variance: 0x436A, priority2: 239,
                        identity: ClockIdentity(rawValue: identity), timeSource: 0xA0), sequence: announces)
                if !isSilent { sockets.general.send(writer.bytes, to: sender, port: sockets.general.port) }
            }
            if now >= nextSync {
                nextSync = now.advanced(by: Self.syncInterval)
                if !isSilent {
                    syncs &+= 1
                    writer.sync(sequence: syncs)
                    let before = HostInstant.now
                    sockets.event.send(writer.bytes, to: sender, port: sockets.event.port)
                    // A later time means that the thread was preempted after the message had been sent.
                    let left = min(.now, before.advanced(by: .microseconds(50)))
                    writer.followUp(origin: PTPTimestamp(instant(at: left)), sequence: syncs)
                    sockets.general.send(writer.bytes, to: sender, port: sockets.general.port)
                }
            }
            _ = Poller.wait(
                reading: [thread.wake.descriptor, sockets.event.descriptor, sockets.general.descriptor],
                until: min(nextSync, nextAnnounce))
            for _ in 0..<DatagramSocket.burst {
                guard let datagram = sockets.event.receive(into: &buffer) else { break }
                guard datagram.source == sender, let message = PTPMessage(buffer[..<datagram.count]) else { continue }
                switch message.content {
                case .sync: foreignSync = datagram.received
                case .delayRequest:
                    guard !isSilent else { continue }
                    writer.delayResponse(
                        received: PTPTimestamp(instant(at: datagram.received)), requester: message.header.source,
                        sequence: message.header.sequence)
                    sockets.general.send(writer.bytes, to: sender, port: sockets.general.port)
                default: break
                }
            }
            sockets.general.discard(into: &buffer)
        }
    }
}
