import FuzzSupport

/// Responses of a speaker, or of a man in the middle, during whole conversations. The first byte selects the
/// conversation.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSender(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    switch input.byte() % 4 {
    case 0: pair(&input)
    case 1: ask(&input)
    case 2: pairForASession(&input)
    default: hearNews(&input)
    }
    return 0
}
