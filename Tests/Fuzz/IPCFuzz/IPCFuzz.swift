import FuzzSupport
import MediaCore
import Playback

@testable import Remote

private let table = ControlTable.player

/// The input of a client in fragments: lines are bounded and the same for every fragmentation; a request has words or
/// an error with a reason, and each of its replies is one line of JSON. Checks requests, and executes none.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzIPC(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    let fragment = 1 + Int(input.byte())
    let bytes = input.remainder()
    let lines = split(bytes, by: fragment)
    precondition(lines == split(bytes, by: max(1, bytes.count)))
    for case .text(let line) in lines {
        precondition(line.count <= LineSplitter.maxLength && !line.contains(0x0A))
        switch IPCRequest(line, table) {
        case .none: break
        case .text(let commands): for words in commands { check(words) }
        case .json(let message):
            switch message.arguments {
            case .failure(let error):
                precondition(!error.message.isEmpty && !error.reason.isEmpty)
                check(message.reply(.failure(error)))
            case .success(let words):
                check(words)
                check(message.reply(.success(.array(words))))
            }
        }
    }
    return 0
}

private func split(_ bytes: [UInt8], by fragment: Int) -> [LineSplitter.Line] {
    var lines = LineSplitter()
    var found: [LineSplitter.Line] = []
    for start in stride(from: 0, to: bytes.count, by: fragment) {
        lines.add(bytes[start..<min(bytes.count, start + fragment)])
        while let line = lines.next() { found.append(line) }
    }
    return found
}

private func check(_ words: [JSONValue]) {
    precondition(!words.isEmpty)
    do throws(ControlError) { _ = try table.request(words) } catch {
        precondition(!error.message.isEmpty)
    }
}

private func check(_ reply: JSONValue) {
    let text = Array(reply.compact.utf8)
    var reader = JSONReader(maxElements: 1 << 20)
    precondition(!text.contains(0x0A) && text.withUnsafeBytes { reader.read($0)?.isObject == true })
}
