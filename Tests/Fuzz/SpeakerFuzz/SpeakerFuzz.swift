import AirPlayWire
import MediaCore
import SpeakerTestSupport

@testable import VirtualSpeaker

private let key = SecretBytes([UInt8](repeating: 7, count: 32))

/// Input to a speaker from an unpaired sender, a paired sender or a stream; the first byte selects which.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSpeaker(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let mode = bytes.first else { return 0 }
    let input = bytes.dropFirst()
    switch mode % 6 {
    case 0: talk(input)
    case 1: command(input)
    case 2: stream(input)
    case 3: datagrams(input)
    case 5: talkClassic(input)
    default: play(input)
    }
    return 0
}

/// Feeds the bytes of a connection before pairing, split in two.
private func talk(_ input: ArraySlice<UInt8>) {
    var conversation = ControlConversation(backend: NotedBackend())
    let middle = input.startIndex + input.count / 2
    _ = conversation.receive(input[..<middle])
    _ = conversation.receive(input[middle...])
}

/// Feeds the bytes of a connection to a classic speaker, with a password for odd lengths.
private func talkClassic(_ input: ArraySlice<UInt8>) {
    var configuration = SpeakerConfiguration()
    configuration.isClassic = true
    if input.count % 2 == 1 { configuration.admission = .password("secret") }
    var conversation = ControlConversation(backend: NotedBackend(configuration, offersPTP: false))
    _ = conversation.receive(input)
    _ = RealtimeUnpacker(key: nil).open(input)
}

/// Handles requests of a paired sender, without encryption.
private func command(_ input: ArraySlice<UInt8>) {
    var session = SpeakerSession(backend: NotedBackend(), admitted: key)
    var parser = RTSPParser()
    parser.append(input)
    while case .request(let request) = try? parser.next() { _ = session.handle(request) }
}

/// Stores packets of a buffered stream with arbitrary sequence numbers and lengths, with flushes in between.
private func stream(_ input: ArraySlice<UInt8>) {
    var unpacker = BufferedUnpacker(key: key)
    _ = try? unpacker.open(input)
    var store = BufferedStore()
    var rest = input
    while let kind = rest.popFirst(), let high = rest.popFirst(), let low = rest.popFirst() {
        let number = UInt32(high) << 15 | UInt32(low)
        switch kind % 4 {
        case 0: store.flush(until: number)
        case 1: store.flush(from: number, until: (number + UInt32(kind)) % BufferedPacketizer.sequenceModulus)
        case 2: _ = store.popFirst()
        default:
            store.append(
                StoredPacket(
                    sequence: number, timestamp: RTPTimestamp(rawValue: number &* 1024), source: 0, audio: [kind]))
        }
    }
    while store.popFirst() != nil {}
    precondition(store.bytes == 0 && store.count == 0, "an empty store holds nothing")
}

/// Parses datagrams of a realtime stream, and stores packets in arbitrary order.
private func datagrams(_ input: ArraySlice<UInt8>) {
    _ = RealtimeControl(input)
    _ = RealtimeUnpacker(key: key).open(input)
    _ = TimingExchange.answer(input)
    _ = LosslessEscape.samples(in: Array(input), .lossless44100)
    _ = LosslessEscape.samples(in: Array(input), .lossless48000)
    var store = RealtimeStore()
    var rest = input
    var now = HostInstant(nanoseconds: 0)
    while let kind = rest.popFirst(), let high = rest.popFirst(), let low = rest.popFirst() {
        now = now.advanced(by: .milliseconds(8))
        let number = UInt32(high) << 8 | UInt32(low)
        switch kind % 8 {
        case 0: store.flush(until: RTPTimestamp(rawValue: number &* 352), at: now)
        case 1: _ = store.popFirst()
        case 2: precondition(store.requests(at: now).count <= RealtimeStore.capacity, "never more than fit")
        default:
            _ = store.insert(
                StoredPacket(
                    sequence: number, timestamp: RTPTimestamp(rawValue: number &* 352), source: 0, audio: [kind]),
                at: now)
        }
    }
    while store.popFirst() != nil {}
}
