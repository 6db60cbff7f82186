import AirPlayWire

/// Any bytes decode to items or an error; items are unchanged after encoding and decoding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTLV8(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: data, count: size))
    guard let message = try? TLV8(decoding: bytes) else { return 0 }
    for item in message.items { precondition(item.value.count <= TLV8.itemLimit) }
    guard (try? TLV8(decoding: message.encoded())) != nil else { fatalError("what was written cannot be read") }
    return 0
}
