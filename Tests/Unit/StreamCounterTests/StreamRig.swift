import AirPlayWire
import MediaCore
import PTP
import SpeakerTestSupport
import TalkieTestKit

@testable import AirPlay
@testable import AirPlayTransport
@testable import VirtualSpeaker

/// The packet processing of a sender and a speaker, connected on a manually advanced clock: no socket and no thread,
/// but the bytes of the wire.
struct StreamRig {
    static let rate = 44100
    static let packet = 352
    private static let master: UInt64 = 0xA1

    let kind: StreamKind
    let host = ManualClock()
    let heard = CountedSound()
    let record = SpeakerRecord()
    let engine: PlayoutEngine
    /// When the first frame is due.
    let start: HostInstant
    /// Packets that were too late to be sent.
    private(set) var leftOut = 0
    /// Retransmitted packets.
    private(set) var resent = 0
    /// Anchors sent after the first.
    private(set) var renewals = 0
    /// Frames of audio placed so far.
    private(set) var placed: Int64 = 0
    /// False simulates a sender that never renews its anchor.
    var renews = true
    /// How far ahead of playback audio is placed.
    var ahead: Duration = .seconds(2)
    /// Interval of the iterations of both sides; at most one realtime packet is sent in each.
    var pace: Duration = .milliseconds(4)
    /// One of this number of realtime packets is lost.
    var loses: UInt16?

    private var playing: PlayoutEngine.Playing
    private var line: RTPTimestampMapper
    private let store = PacketStore(bytes: 1 << 20, packets: 1024)
    private var pacing = RealtimePacing(sampleRate: rate, depth: RealtimeSender.depth)
    private var realtime: RealtimePacketizer
    private var buffered: BufferedPacketizer
    private var kept = RetransmitBuffer()
    private let realtimeUnpacker: RealtimeUnpacker
    private var bufferedUnpacker: BufferedUnpacker
    private var sentAnchor: SentAnchor
    /// The frame of the audio that is placed next.
    private var next: Int64 = 0
    private var isFed = true
    private var requests: UInt16 = 65_530

    init(_ kind: StreamKind, _ counters: StreamCounters) throws {
        self.kind = kind
        let clock = TurnedClock(host)
        clock.announce(Self.master)
        clock.observe(origin: PTPInstant(nanoseconds: host.now.nanoseconds))
        host.advance(by: OffsetFilter.lockTime)
        engine = try PlayoutEngine(
            setup: .init(kind: kind, format: .wire(.lossless44100), capacity: 1 << 20, output: .none), clock: clock,
            gain: 1, codecs: nil, record: record, host: host)
        playing = PlayoutEngine.Playing(
            device: VirtualDevice(sampleRate: Self.rate, origin: host.now, sink: heard, record: record),
            decoder: StreamAudioDecoder(codecs: nil))
        let key = SecretBytes([UInt8](repeating: 9, count: 32))
        realtime = RealtimePacketizer(
            key: key, source: 0, firstSequence: UInt16(truncatingIfNeeded: counters.sequence),
            firstNonce: counters.nonce)
        buffered = BufferedPacketizer(
            key: key, format: .lossless44100, firstSequence: counters.sequence, firstNonce: counters.nonce)
        realtimeUnpacker = RealtimeUnpacker(key: key)
        bufferedUnpacker = BufferedUnpacker(key: key)
        line = RTPTimestampMapper(sampleRate: Self.rate, first: counters.timestamp)
        store.beginNumbering(at: buffered.nextSequence)
        start = host.now.advanced(by: .seconds(1))
        sentAnchor = SentAnchor(
            media: .zero, position: counters.timestamp, instant: PTPInstant(nanoseconds: start.nanoseconds), speed: 1,
            epoch: 0, generation: 0, delay: .zero)
        if kind == .realtime {
            pacing.begin(
                .init(
                    position: sentAnchor.position, instant: sentAnchor.instant,
                    grandmaster: ClockIdentity(rawValue: Self.master)),
                at: host.now)
        } else {
            engine.setAnchor(
                PlayoutAnchor(position: sentAnchor.position, instant: sentAnchor.instant, clock: Self.master))
        }
    }

    /// Plays for a duration.
    mutating func run(for duration: Duration) throws {
        let end = host.now.advanced(by: duration)
        while host.now < end {
            try runIteration()
            host.advance(by: pace)
        }
    }

    /// Plays what has been placed, and nothing more.
    mutating func drain() throws {
        isFed = false
        loses = nil
        try run(for: ahead + .milliseconds(100))
        isFed = true
    }

    /// Stays silent until a frame of the audio, on the same timeline.
    mutating func skip(to frame: Int64) throws {
        try drain()
        next = frame
        heard.expect(frame)
        while true {
            let rest = instant(of: frame) - host.now - ahead
            guard rest > .zero else { return }
            host.advance(by: min(rest, .seconds(1800)))
            try runIteration()
        }
    }

    private func instant(of frame: Int64) -> HostInstant {
        start.advanced(
            by: .seconds(frame / Int64(Self.rate))
                + .nanoseconds(
                    frame % Int64(Self.rate) * 1_000_000_000 / Int64(Self.rate)))
    }

    private mutating func runIteration() throws {
        let now = host.now
        feed(until: now.advanced(by: ahead))
        if kind == .realtime { try sendRealtime(at: now) } else { try sendBuffered(at: now) }
        while playing.round(at: now, of: engine) <= now {}
    }

    private mutating func feed(until limit: HostInstant) {
        while isFed, instant(of: next) < limit {
            let timestamp = line.map(
                MediaTime(value: next, timescale: Int32(Self.rate)), frames: Self.packet, isContiguous: false)
            let sound = LosslessEscape.frame(CountedSound.samples(from: next, frames: Self.packet))
            guard sound.withUnsafeBytes({ store.append($0, timestamp: timestamp) }) else { return }
            next += Int64(Self.packet)
            placed += Int64(Self.packet)
        }
    }

    // MARK: A realtime stream

    private mutating func sendRealtime(at now: HostInstant) throws {
        if let sync = pacing.sync(at: now),
            case .sync(let position, let instant, let clock, _)? = RealtimeControl(sync[...])
        {
            engine.setAnchor(PlayoutAnchor(position: position, instant: instant, clock: clock))
        }
        var sound: [UInt8] = []
        while let timestamp = store.nextTimestamp {
            let verdict = pacing.verdict(on: timestamp, at: now)
            guard verdict != .leaveOut else {
                leftOut += 1
                _ = store.removeNext(into: &sound)
                continue
            }
            guard verdict == .send, store.removeNext(into: &sound) != nil else { break }
            let sequence = realtime.nextSequence
            let packet = realtime.packet(sound, timestamp: timestamp, marked: pacing.recordSent(at: now))
            kept.store(packet, sequence: sequence)
            if let loses, sequence % loses == 0 { continue }
            receive(packet)
        }
        for run in engine.missing(at: now) {
            requests &+= 1
            let asked = ResendRequest.bytes(sequence: requests, firstMissing: run.first, count: run.count)
            guard let request = ResendRequest(asked) else { continue }
            for offset in 0..<request.count {
                guard let packet = kept.packet(request.firstMissing &+ offset) else { continue }
                resent += 1
                if case .resent(let again)? = RealtimeControl(request.answer(packet)[...]) { receive(again) }
            }
        }
    }

    private func receive(_ datagram: [UInt8]) {
        guard let packet = realtimeUnpacker.open(datagram[...]) else { return }
        engine.insert([
            StoredPacket(
                sequence: UInt32(packet.sequence), timestamp: packet.timestamp, source: 0, audio: packet.audio)
        ])
    }

    // MARK: A buffered stream

    private mutating func sendBuffered(at now: HostInstant) throws {
        var sound: [UInt8] = []
        var wire: [UInt8] = []
        while engine.freeBytes > 0, let timestamp = store.removeNext(into: &sound) {
            wire.removeAll()
            _ = buffered.append(sound, timestamp: timestamp, to: &wire)
            engine.insert(
                try bufferedUnpacker.open(wire).map {
                    StoredPacket(
                        sequence: $0.sequence, timestamp: $0.timestamp, source: $0.synchronizationSource,
                        audio: $0.audio)
                })
        }
        let reach = SentAnchor.longestReach(sampleRate: Self.rate)
        guard renews,
            let anchor = sentAnchor.renewed(
                at: PTPInstant(nanoseconds: now.nanoseconds), sampleRate: Self.rate, reach: reach)
        else { return }
        sentAnchor = anchor
        renewals += 1
        engine.setAnchor(PlayoutAnchor(position: anchor.position, instant: anchor.instant, clock: Self.master))
    }

    /// Errors reported by the speaker, except underruns where nothing was sent.
    var complaints: [SpeakerEvent] {
        record.events.filter {
            switch $0 {
            case .late, .lost, .damaged: true
            default: false
            }
        }
    }
}
