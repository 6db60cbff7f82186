import MediaCore
import PTP
internal import Sockets

/// Any datagram is a message or rejected, and its timestamps are valid or rejected. With any messages of a master at
/// any time, its timeline and the served time stay bounded. With any messages of a network, the engine sends few
/// responses, and a speaker that plays by our clock is not switched to another.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPTP(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: data, count: size))
    if let message = PTPMessage(bytes[...]) { check(message) }
    listen(to: bytes[...])
    converse(bytes[...])
    return 0
}

private func check(_ message: PTPMessage) {
    switch message.content {
    case .followUp(let time), .delayResponse(let time, _), .peerDelayResponse(let time, _),
        .peerDelayResponseFollowUp(let time, _):
        if let instant = time.instant { precondition(PTPTimestamp(instant) == time) }
    case .signaling(_, let requests):
        precondition(requests.count <= 8)
        var writer = PTPMessageWriter(identity: ClockIdentity(rawValue: 1))
        writer.grant(requests, to: message.header.source, sequence: message.header.sequence)
    default: break
    }
}

/// Feeds a master's messages. Three bytes precede each one: its length, and the milliseconds since the previous one.
private func listen(to bytes: ArraySlice<UInt8>) {
    let clock = FuzzClock()
    let served = ServedTimeline(clock: clock)
    let (peer, own) = (NetworkAddress(ipv4: 0x0A00_0002), ClockIdentity(rawValue: 1))
    var observer = MasterObserver()
    var rest = bytes
    var now = HostInstant(nanoseconds: 1_000_000_000_000)
    while rest.count > 3 {
        let (length, high, low) = (Int(rest[rest.startIndex]), rest[rest.startIndex + 1], rest[rest.startIndex + 2])
        now = now.advanced(by: .milliseconds(Int64(high) << 8 | Int64(low)))
        rest = rest.dropFirst(3)
        let message = PTPMessage(rest.prefix(length))
        rest = rest.dropFirst(length)
        guard let message else { continue }
        switch message.content {
        case .announce(let quality, _): observer.recordAnnounce(quality, from: message.header, at: now)
        case .sync: observer.recordSync(message.header, received: now)
        case .followUp(let origin): _ = observer.recordFollowUp(message.header, origin: origin, at: now)
        case .delayResponse(let received, let requester):
            observer.recordDelayRequest(message.header.sequence, sent: now, by: own)
            observer.recordDelayResponse(message.header, received: received, to: requester, at: now)
        default: break
        }
        guard let grandmaster = observer.grandmaster, let mapping = observer.mapping(at: now, fallbackPath: .zero)
        else {
            continue
        }
        precondition(abs(mapping.rateOffset) <= 200e-6)
        served.adjust(grandmaster, of: peer, at: mapping, isPlaying: low & 1 == 1)
        let theirs = served.timeline(ofMaster: grandmaster)
        precondition(abs(served.timeline.mapping.rateOffset) <= ServedTimeline.largestBend)
        _ = theirs?.mapping.source(at: theirs!.mapping.target(at: now))
    }
}

/// A constant clock: the result depends on the messages, not on the time at which the test ran.
private struct FuzzClock: HostClock {
    var now: HostInstant { HostInstant(nanoseconds: 1_000_000_000_000) }
}
