/// Splits the input of a client into lines, in bounded memory.
struct LineSplitter {
    /// The maximum length of a line in bytes.
    static let maxLength = 64 << 10

    enum Line: Equatable {
        case text([UInt8])
        /// A line that is too long; its rest is skipped.
        case overlong
    }

    private var bytes: [UInt8] = []
    /// The start of the next line.
    private var start = 0
    /// No newline precedes this index.
    private var searched = 0
    private var isSkipping = false

    /// Whether there is a line, possibly one that is too long; more input can wait.
    var isFull: Bool { bytes.count - start > Self.maxLength }

    /// Adds input.
    mutating func add(_ input: some Collection<UInt8>) {
        if start > 0 {
            bytes.removeFirst(start)
            (start, searched) = (0, searched - start)
        }
        bytes += input
    }

    /// Removes and returns the next line without its newline; nil if more input is required.
    mutating func next() -> Line? {
        while true {
            guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
                searched = bytes.count
                if isSkipping {
                    removeAll()
                } else if bytes.count - start > Self.maxLength {
                    removeAll()
                    isSkipping = true
                    return .overlong
                }
                return nil
            }
            let line = bytes[start..<end]
            (start, searched) = (end + 1, end + 1)
            if isSkipping {
                isSkipping = false
                continue
            }
            return line.count > Self.maxLength ? .overlong : .text(Array(line))
        }
    }

    private mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        (start, searched) = (0, 0)
    }
}
