internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets

/// Receives a realtime stream on two UDP ports and requests missing packets.
///
/// The owner must call `stop`: the thread `speaker-data` keeps this object alive until then.
final class RealtimeReceiver: Sendable {
    /// The time after the start in which only a sync packet that is marked as the first is accepted; others belong to
    /// the previous stream.
    private static let stalePeriod: Duration = .seconds(2)
    /// Interval of the check for missing packets.
    private static let checkInterval: Duration = .milliseconds(20)

    private let data: DatagramSocket
    private let control: DatagramSocket
    private let unpacker: RealtimeUnpacker
    private let engine: PlayoutEngine
    private let sender: NetworkAddress
    private let clock: any SenderClock
    private let quirks: SpeakerQuirks
    private let record: SpeakerRecord
    private let thread: PollingThread

    var dataPort: UInt16 { data.port }
    var controlPort: UInt16 { control.port }

    init(
        address: NetworkAddress, sender: NetworkAddress, key: SecretBytes?, engine: PlayoutEngine,
        clock: any SenderClock,
        quirks: SpeakerQuirks, record: SpeakerRecord
    ) throws(SpeakerError) {
        data = try SpeakerError.datagrams(at: address)
        control = try SpeakerError.datagrams(at: address)
        thread = try SpeakerError.pollingThread("speaker-data", priority: .elevated)
        unpacker = RealtimeUnpacker(key: key)
        (self.engine, self.sender, self.clock) = (engine, sender, clock)
        (self.quirks, self.record) = (quirks, record)
        try SpeakerError.start(thread) { [self] in run() }
    }

    func stop() { thread.stop() }

    private struct Progress {
        /// The source port of sync packets; shairport-sync sends its resend requests there.
        var syncPort: UInt16?
        var requestSequence: UInt16 = 0
        var loss: LossDice
        /// Whether the quirk `resendFlood` was applied.
        var hasFlooded = false
        let started: HostInstant
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 2048)
        var progress = Progress(loss: LossDice(share: quirks.packetLoss), started: .now)
        var next = HostInstant.now
        while !thread.isStopping {
            _ = Poller.wait(reading: [thread.wake.descriptor, data.descriptor, control.descriptor], until: next)
            for _ in 0..<DatagramSocket.burst {
                guard let datagram = data.receive(into: &buffer) else { break }
                guard datagram.source == sender else { continue }
                store(buffer[..<datagram.count], &progress)
            }
            for _ in 0..<DatagramSocket.burst {
                guard let datagram = control.receive(into: &buffer) else { break }
                guard datagram.source == sender, let message = RealtimeControl(buffer[..<datagram.count]) else {
                    continue
                }
                switch message {
                case .resent(let packet): store(packet[...], &progress)
                case .sync(let position, let instant, let clock, let isFirst):
                    progress.syncPort = datagram.sourcePort
                    guard isFirst || HostInstant.now - progress.started > Self.stalePeriod else { continue }
                    engine.setAnchor(PlayoutAnchor(position: position, instant: instant, clock: clock))
                }
            }
            let now = HostInstant.now
            if now >= next {
                next = now.advanced(by: Self.checkInterval)
                requestMissing(at: now, &progress)
            }
        }
    }

    private func store(_ datagram: ArraySlice<UInt8>, _ progress: inout Progress) {
        guard !progress.loss.strikes(), !quirks.isSilentAfterSetup else { return }
        guard let packet = unpacker.open(datagram) else {
            record.record(.damaged(reason: "a realtime packet failed authentication"))
            return
        }
        engine.insert([
            StoredPacket(
                sequence: UInt32(packet.sequence), timestamp: packet.timestamp, source: 0, audio: packet.audio)
        ])
    }

    private func requestMissing(at now: HostInstant, _ progress: inout Progress) {
        guard let port = progress.syncPort else { return }
        if let flood = quirks.resendFlood, !progress.hasFlooded {
            progress.hasFlooded = true
            for number in 0..<flood {
                let first = UInt16(truncatingIfNeeded: number &* 7)
                control.send(
                    ResendRequest.bytes(sequence: first, firstMissing: first, count: .max), to: sender, port: port)
            }
        }
        for run in engine.missing(at: now) {
            progress.requestSequence &+= 1
            let request = ResendRequest.bytes(
                sequence: progress.requestSequence, firstMissing: run.first, count: run.count)
            control.send(request, to: sender, port: port)
            record.record(.resendRequested(first: run.first, count: Int(run.count)))
        }
    }
}

/// Simulates packet loss, reproducibly (a linear congruential generator with Knuth's constants).
struct LossDice: Sendable {
    private let threshold: UInt64
    private var state: UInt64 = 0x5EED

    /// - Parameter share: The loss rate, 0…1.
    init(share: Double) { threshold = UInt64(clamping: share * 4_294_967_296, in: 0...1 << 32) }

    mutating func strikes() -> Bool {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 32 < threshold
    }
}
