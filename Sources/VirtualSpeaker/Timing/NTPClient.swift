internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets

/// Measures a sender's time by NTP. Uses the offset of the answer with the shortest round trip among the last 16.
///
/// Callable from any thread; only `stop` blocks. The owner must call `stop`: the thread `speaker-ntp`
/// keeps this object alive until then.
final class NTPClient: SenderClock, Sendable {
    /// Interval of the first eight requests; `interval` applies afterwards.
    private static let firstInterval: Duration = .milliseconds(300)
    private static let interval: Duration = .seconds(3)
    private static let quickQuestions = 8
    /// Maximum number of answers kept, 48 s: an offset that changes often makes the playback position drift.
    private static let kept = 16

    private struct Answer {
        let offset: Int64
        let roundTrip: Int64
    }

    /// The last answers; written by the thread, read by any thread.
    private let answers = Lock<[Answer]>([])
    private let sockets: [DatagramSocket]
    private let stopsAfter: Duration?
    private let sender: NetworkAddress
    private let port: UInt16
    private let oscillator: Oscillator
    private let record: SpeakerRecord
    private let thread: PollingThread
    /// Answers before this instant are ignored (quirk `lateClock`).
    private let believingFrom: HostInstant

    let namesClocks = false
    let grandmaster: UInt64? = nil

    /// Opens a UDP port and starts the thread.
    ///
    /// - Parameter port: `timingPort` of the sender's SETUP.
    init(
        address: NetworkAddress, sender: NetworkAddress, port: UInt16, oscillator: Oscillator, quirks: SpeakerQuirks,
        record: SpeakerRecord
    ) throws(SpeakerError) {
        stopsAfter = quirks.timingStopsAfter
        var sockets: [DatagramSocket] = []
        for _ in 0..<(quirks.movesTimingPort ? 4 : 1) { sockets.append(try SpeakerError.datagrams(at: address)) }
        self.sockets = sockets
        thread = try SpeakerError.pollingThread("speaker-ntp", priority: .elevated)
        self.sender = sender
        self.port = port
        self.oscillator = oscillator
        self.record = record
        believingFrom = HostInstant.now.advanced(by: quirks.lateClock)
        try SpeakerError.start(thread) { [self] in run() }
    }

    func stop() { thread.stop() }

    var isLocked: Bool { answers.withLock { !$0.isEmpty } }

    /// The offset of the answer with the shortest round trip, sender minus speaker, in nanoseconds.
    /// Its path is the most symmetric.
    private var offset: Int64? {
        answers.withLock { answers in answers.min { $0.roundTrip < $1.roundTrip }?.offset }
    }

    func hostInstant(of instant: PTPInstant) -> HostInstant? {
        offset.map { oscillator.hostInstant(at: SpeakerInstant(nanoseconds: instant.nanoseconds &- $0)) }
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 512)
        let began = HostInstant.now
        var next = began
        var asked = 0
        while !thread.isStopping {
            let now = HostInstant.now
            let socket = sockets[asked % sockets.count]
            if let stopsAfter, now - began >= stopsAfter {
                next = HostInstant(nanoseconds: .max)
            } else if now >= next {
                let sent = oscillator.speakerInstant(at: now).nanoseconds
                socket.send(TimingExchange.request(sent: UInt64(bitPattern: sent)), to: sender, port: port)
                asked += 1
                next = now.advanced(by: asked < Self.quickQuestions ? Self.firstInterval : Self.interval)
            }
            _ = Poller.wait(reading: [thread.wake.descriptor, socket.descriptor], until: next)
            for _ in 0..<DatagramSocket.burst {
                guard let datagram = socket.receive(into: &buffer) else { break }
                let arrival = HostInstant.now
                guard datagram.source == sender, datagram.sourcePort == port, arrival >= believingFrom,
                    let answer = TimingExchange.answer(buffer[..<datagram.count])
                else { continue }
                store(answer, arrival: oscillator.speakerInstant(at: arrival).nanoseconds)
            }
        }
    }

    private func store(_ answer: (origin: UInt64, received: UInt64, sent: UInt64), arrival: Int64) {
        let origin = Int64(bitPattern: answer.origin)
        let received = PTPInstant(networkTime: answer.received).nanoseconds
        let sent = PTPInstant(networkTime: answer.sent).nanoseconds
        let roundTrip = (arrival &- origin) &- (sent &- received)
        // Only an answer to a request of the last seconds is valid.
        guard (0...5_000_000_000).contains(arrival &- origin), (0...5_000_000_000).contains(roundTrip) else { return }
        let offset = ((received &- origin) &+ (sent &- arrival)) / 2
        let first = answers.withLock { answers in
            answers.append(Answer(offset: offset, roundTrip: roundTrip))
            if answers.count > Self.kept { answers.removeFirst() }
            return answers.count == 1
        }
        if first { record.record(.clock(locked: true, offset: .nanoseconds(offset), grandmaster: nil)) }
    }
}
