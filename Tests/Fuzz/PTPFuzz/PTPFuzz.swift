import PTP

/// Any datagram is a message or nothing; a time that it carries is a moment or nothing.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPTP(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: data, count: size))
    guard let message = PTPMessage(bytes[...]) else { return 0 }
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
    return 0
}
