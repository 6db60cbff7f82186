import AirPlayWire

private let key = SecretBytes([UInt8](repeating: 5, count: 32))

/// Encrypted channels and audio packets: forged bytes are never accepted, incomplete ones are buffered up to a limit.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFrames(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    guard size > 2 else { return 0 }
    let piece = Int(data[1]) + 1
    var rest = [UInt8](UnsafeBufferPointer(start: data + 2, count: size - 2))[...]
    var opener = HAPFrameOpener(key: key)
    var unpacker = BufferedUnpacker(key: key)
    if data[0] & 1 == 0 {
        // Starts with a genuine frame, so that the input is decrypted with the next nonce.
        var sealer = HAPFrameSealer(key: key)
        precondition((try? opener.open(sealer.seal(Array(rest)))) == Array(rest))
    }
    while !rest.isEmpty {
        let part = rest.prefix(piece)
        rest = rest.dropFirst(piece)
        if data[0] & 2 == 0 { _ = try? opener.open(part) } else { _ = try? unpacker.open(part) }
    }
    return 0
}
