import FuzzSupport

/// Responses of a speaker, or of a man in the middle, during whole conversations. The first byte selects the
/// conversation.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSender(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    // The seeds use 0 to 3.
    switch input.byte() % 8 {
    case 0, 4: pair(&input)
    case 1, 5: ask(&input)
    case 2, 6: pairForASession(&input)
    case 3: hearNews(&input)
    case 7: askClassic(&input)
    default: hearRemoteControl(&input)
    }
    return 0
}
