import AirPlayWire
import MediaCore
import SpeakerTestSupport
import TalkieTestKit

@testable import VirtualSpeaker

private let master: UInt64 = 1

/// The real engine on a manually advanced clock, with arbitrary times, anchors, packets and flushes in any order. Each
/// step is a byte that selects the action, and its numbers.
func play(_ input: ArraySlice<UInt8>) {
    var rest = input
    guard let shape = rest.popFirst() else { return }
    let kind: StreamKind = shape & 1 == 0 ? .buffered : .realtime
    let host = ManualClock()
    let clock = TurnedClock(host, partsPerMillion: Double(shape >> 4) * 20, namesClocks: shape & 2 == 0)
    let record = SpeakerRecord()
    guard
        let engine = try? PlayoutEngine(
            setup: .init(
                kind: kind, format: kind == .buffered ? .wire(.lossless44100) : .pcm44100, capacity: 1 << 16,
                output: .none),
            clock: clock, gain: 1, codecs: nil, record: record, host: host),
        var playing = engine.beginPlaying()
    else { return }
    if shape & 4 != 0 {
        // Locks the clock first, because few inputs find out how to do so.
        clock.announce(master)
        clock.observe(origin: PTPInstant(nanoseconds: host.now.nanoseconds))
        host.advance(by: .seconds(1))
    }
    let sound = LosslessEscape.frame([Int16](repeating: 7, count: 704))
    while let step = rest.popFirst() {
        switch step % 12 {
        case 0: host.advance(by: .milliseconds(Int64(rest.popFirst() ?? 0)))
        case 1: clock.announce(rest.popFirst().map { UInt64($0 % 3) })
        case 2: clock.observe(origin: instant(&rest, near: host.now))
        case 3, 4:
            engine.setAnchor(
                PlayoutAnchor(
                    position: RTPTimestamp(rawValue: number(&rest)), instant: instant(&rest, near: host.now),
                    clock: step & 64 == 0 ? master : nil))
        case 5: engine.pause()
        case 6:
            if kind == .buffered {
                engine.flushBuffered(until: number(&rest) % BufferedPacketizer.sequenceModulus)
            } else {
                engine.flushRealtime(until: RTPTimestamp(rawValue: number(&rest)))
            }
        case 7:
            let from = number(&rest) % BufferedPacketizer.sequenceModulus
            engine.flushBuffered(from: from, until: (from + UInt32(step)) % BufferedPacketizer.sequenceModulus)
        case 8:
            for run in engine.missing(at: host.now) { precondition(Int(run.count) <= RealtimeStore.capacity) }
        case 9: engine.setGain(Float(rest.popFirst() ?? 0) / 255)
        default:
            guard engine.freeBytes > 0 else { break }
            let sequence = number(&rest)
            let source = StreamFormat.all[Int(step) % StreamFormat.all.count].synchronizationSource
            let length = step & 128 == 0 ? sound.count : Int(rest.popFirst() ?? 0)
            engine.insert([
                StoredPacket(
                    sequence: sequence % (kind == .buffered ? BufferedPacketizer.sequenceModulus : 1 << 16),
                    timestamp: RTPTimestamp(rawValue: sequence &* 352 &+ (step & 64 == 0 ? 0 : number(&rest))),
                    source: source, audio: Array(sound.prefix(length)))
            ])
        }
        let next = playing.round(at: host.now, of: engine)
        precondition(next >= host.now, "nothing is to be done in the past")
        precondition(record.spans.count <= SpeakerRecord.limit, "the record is bounded")
    }
    for span in record.spans {
        precondition(
            (span.instant - host.now).wholeNanoseconds.magnitude < UInt64(PlayoutEngine.reach.wholeNanoseconds),
            "what is heard lies in reach")
    }
    playing.finish(at: host.now)
    engine.stop()
}

/// Returns a number near zero, near 2²² or arbitrary, selected by the first byte.
private func number(_ rest: inout ArraySlice<UInt8>) -> UInt32 {
    guard let kind = rest.popFirst() else { return 0 }
    switch kind % 4 {
    case 0: return UInt32(kind >> 2)
    case 1: return UInt32(bitPattern: -Int32(kind >> 2))
    case 2: return (1 << 22) + UInt32(kind >> 2)
    default: return (0..<4).reduce(0) { value, _ in value << 8 | UInt32(rest.popFirst() ?? 0) }
    }
}

/// Returns an instant within seconds or days of now, at a limit of the range, or arbitrary.
private func instant(_ rest: inout ArraySlice<UInt8>, near now: HostInstant) -> PTPInstant {
    guard let kind = rest.popFirst() else { return PTPInstant(nanoseconds: 0) }
    let near = PTPInstant(nanoseconds: now.nanoseconds)
    let signed = Int64(Int8(bitPattern: rest.popFirst() ?? 0))
    switch kind % 5 {
    case 0: return near.advanced(by: .milliseconds(signed * 10))
    case 1: return near.advanced(by: .seconds(signed * 3000))
    case 2: return PTPInstant(nanoseconds: .min &+ signed)
    case 3: return near.advanced(by: .microseconds(signed * 100))
    default:
        return PTPInstant(
            nanoseconds: Int64(
                bitPattern: (0..<8).reduce(0 as UInt64) { value, _ in value << 8 | UInt64(rest.popFirst() ?? 0) }))
    }
}
