internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets
internal import Synchronization

/// Asks a sender for its time in the manner of NTP and keeps the offset of the quickest of the last answers.
///
/// A thread of its own does the work; all methods may be called from any thread and return at once, except `stop`, which the owner must call: the thread keeps this
/// object alive until then.
final class NTPClient: SenderClock, Sendable {
    /// The first questions come quickly, the others every three seconds.
    private static let firstInterval: Duration = .milliseconds(300)
    private static let interval: Duration = .seconds(3)
    private static let quickQuestions = 8
    /// Enough for most of a minute: an offset that changes often makes sound wander.
    private static let kept = 16

    private struct Answer {
        let offset: Int64
        let roundTrip: Int64
    }

    private let answers = Lock<[Answer]>([])
    private let socket: DatagramSocket
    private let sender: IPv4Address
    private let port: UInt16
    private let oscillator: Oscillator
    private let record: SpeakerRecord
    private let wakeup: PollableSignal
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)
    private let believingFrom: HostInstant

    let namesClocks = false
    let grandmaster: UInt64? = nil

    /// - Parameter port: `timingPort` of the sender's SETUP.
    init(
        address: IPv4Address, sender: IPv4Address, port: UInt16, oscillator: Oscillator, quirks: SpeakerQuirks,
        record: SpeakerRecord
    ) throws(SpeakerError) {
        socket = try SpeakerError.datagrams(at: address)
        wakeup = try SpeakerError.signal()
        self.sender = sender
        self.port = port
        self.oscillator = oscillator
        self.record = record
        believingFrom = HostInstant.now.advanced(by: quirks.lateClock)
        let worker = try SpeakerError.thread("speaker-ntp", priority: .elevated) { [self] in run() }
        thread.withLock { $0 = worker }
    }

    func stop() {
        stopping.store(true, ordering: .releasing)
        wakeup.raise()
        thread.withLock { $0 }?.join()
    }

    var isLocked: Bool { answers.withLock { !$0.isEmpty } }

    /// The offset of the quickest answer: its way there and back differ least.
    private var offset: Int64? {
        answers.withLock { answers in answers.min { $0.roundTrip < $1.roundTrip }?.offset }
    }

    func hostInstant(of instant: PTPInstant) -> HostInstant? {
        offset.map { oscillator.hostInstant(at: SpeakerInstant(nanoseconds: instant.nanoseconds &- $0)) }
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 512)
        var next = HostInstant.now
        var asked = 0
        while !stopping.load(ordering: .acquiring) {
            let now = HostInstant.now
            if now >= next {
                let sent = oscillator.speakerInstant(at: now).nanoseconds
                socket.send(TimingExchange.request(sent: UInt64(bitPattern: sent)), to: sender, port: port)
                asked += 1
                next = now.advanced(by: asked < Self.quickQuestions ? Self.firstInterval : Self.interval)
            }
            _ = Poller.wait(reading: [wakeup.descriptor, socket.descriptor], until: next)
            for _ in 0..<DatagramSocket.burst {
                guard let datagram = socket.receive(into: &buffer) else { break }
                let arrival = HostInstant.now
                guard datagram.source == sender, datagram.sourcePort == port, arrival >= believingFrom,
                    let answer = TimingExchange.answer(buffer[..<datagram.count])
                else { continue }
                keep(answer, arrival: oscillator.speakerInstant(at: arrival).nanoseconds)
            }
        }
    }

    private func keep(_ answer: (origin: UInt64, received: UInt64, sent: UInt64), arrival: Int64) {
        let origin = Int64(bitPattern: answer.origin)
        let received = PTPInstant(networkTime: answer.received).nanoseconds
        let sent = PTPInstant(networkTime: answer.sent).nanoseconds
        let roundTrip = (arrival &- origin) &- (sent &- received)
        // An answer to nothing we asked within the last seconds is somebody else's.
        guard (0...5_000_000_000).contains(arrival &- origin), (0...5_000_000_000).contains(roundTrip) else { return }
        let offset = ((received &- origin) &+ (sent &- arrival)) / 2
        let first = answers.withLock { answers in
            answers.append(Answer(offset: offset, roundTrip: roundTrip))
            if answers.count > Self.kept { answers.removeFirst() }
            return answers.count == 1
        }
        if first { record.note(.clock(locked: true, offset: .nanoseconds(offset), grandmaster: nil)) }
    }
}
