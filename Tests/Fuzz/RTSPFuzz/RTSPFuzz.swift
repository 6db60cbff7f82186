import AirPlayWire

/// Any bytes, split anywhere, are parsed to messages or an error, and the parser buffers no more than the maximum size
/// of one message.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRTSP(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    guard size > 1 else { return 0 }
    let piece = Int(data[0]) + 1
    var rest = [UInt8](UnsafeBufferPointer(start: data + 1, count: size - 1))[...]
    var parser = RTSPParser()
    while !rest.isEmpty {
        parser.append(rest.prefix(piece))
        rest = rest.dropFirst(piece)
        do {
            while let message = try parser.next() {
                switch message {
                case .request(let request): _ = request.encoded()
                case .response(let response): _ = (response.encoded(), response.sequence)
                }
            }
        } catch {
            precondition(parser.heldBytes == 0)
            return 0
        }
        precondition(parser.heldBytes <= RTSPParser.headLimit + RTSPParser.bodyLimit + piece)
    }
    return 0
}
