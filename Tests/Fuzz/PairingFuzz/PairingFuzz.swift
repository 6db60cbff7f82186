import AirPlayWire

private let identity = PairingIdentity(
    identifier: "A1B2C3D4E5F60718", seed: SecretBytes([UInt8](repeating: 7, count: 32)))
private let secret = SecretBytes([UInt8](repeating: 9, count: 64))

/// Any response of a speaker continues or ends a pairing, without other effects. The computation of SRP is excluded,
/// because it takes 30 ms.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPairing(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    guard size > 0 else { return 0 }
    let body = [UInt8](UnsafeBufferPointer(start: data + 1, count: size - 1))
    switch data[0] % 4 {
    case 0: _ = try? PairSetup.challenge(in: body)
    case 1: _ = try? PairSetup(.transient).finish(body)
    case 2: _ = try? PairSetup.accessory(in: body, secret: secret)
    default:
        let accessory = PairedAccessory(identifier: [1], publicKey: [UInt8](repeating: 3, count: 32))
        var verify = PairVerify(identity: identity, accessory: accessory)
        _ = try? verify.respond(to: body)
        _ = try? verify.finish(body)
    }
    return 0
}
