import AirPlayWire

/// Any bytes decode to a value or an error, within limits; a value is unchanged after encoding and decoding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPropertyList(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    let bytes = [UInt8](UnsafeBufferPointer(start: data, count: size))
    guard let value = try? PropertyList(binary: bytes) else { return 0 }
    _ = ReceiverInfo(value)
    _ = try? SessionSetup(value)
    _ = try? StreamSetup(value)
    guard let again = try? PropertyList(binary: value.binary()) else { fatalError("what was written cannot be read") }
    // Compares bytes, because NaN differs from itself.
    precondition(again.binary() == value.binary(), "a value changed on its way through the codec")
    return 0
}
