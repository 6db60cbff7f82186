import AirPlayWire

/// Datagrams of the control and timing ports, and mDNS announcements.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDatagrams(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: data, count: size))
    if let request = ResendRequest(bytes) {
        let kept = RetransmitBuffer()
        for step in 0..<min(request.count, 600) {
            if let packet = kept.packet(request.firstMissing &+ step) { _ = request.answer(packet) }
        }
    }
    if let request = TimingRequest(bytes) { _ = request.answer(received: 1, sent: 2) }
    if let record = try? TXTRecord(wire: bytes) {
        _ = (record.features, record.statusFlags, record["deviceid"], record.bytes("pk"))
    }
    return 0
}
