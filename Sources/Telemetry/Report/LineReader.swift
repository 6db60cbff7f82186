internal import Glibc

/// Splits a byte stream into lines in constant memory. Longer lines than the limit are skipped and counted.
struct LineReader {
    /// Maximum length of a line in bytes.
    static let longestLine = 64 * 1024

    private var held: [UInt8] = []
    private var isSkipping = false
    private(set) var overlongLines = 0

    init() { held.reserveCapacity(Self.longestLine) }

    /// Adds bytes and calls `body` with every completed line, without its newline.
    mutating func feed(_ piece: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        var rest = piece
        while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = UnsafeRawBufferPointer(rebasing: rest[..<newline])
            rest = UnsafeRawBufferPointer(rebasing: rest[(newline + 1)...])
            if isSkipping {
                isSkipping = false
            } else if held.count + line.count > Self.longestLine {
                overlongLines += 1
            } else if held.isEmpty {
                body(line)
            } else {
                held.append(contentsOf: line)
                held.withUnsafeBytes(body)
            }
            held.removeAll(keepingCapacity: true)
        }
        guard !isSkipping else { return }
        if held.count + rest.count > Self.longestLine {
            overlongLines += 1
            isSkipping = true
            held.removeAll(keepingCapacity: true)
        } else {
            held.append(contentsOf: rest)
        }
    }

    /// Ends the stream: calls `body` with an unterminated last line, if any.
    mutating func finish(_ body: (UnsafeRawBufferPointer) -> Void) {
        if !held.isEmpty { held.withUnsafeBytes(body) }
        held.removeAll(keepingCapacity: true)
    }

    /// Reads a descriptor to its end; blocks. `isWhole` is false for an unterminated last line.
    ///
    /// - Returns: The errno value of a failure, or nil.
    mutating func read(descriptor: Int32, _ body: (UnsafeRawBufferPointer, _ isWhole: Bool) -> Void) -> Int32? {
        withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 16) { buffer in
            while true {
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if count == 0 { break }
                if count < 0 {
                    if errno == EINTR { continue }
                    return errno
                }
                feed(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { body($0, true) }
            }
            finish { body($0, false) }
            return nil
        }
    }
}
