internal import Glibc
internal import MediaCore

/// Standard output or standard error, written unbuffered.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    private static let failure = Lock<Int32?>(nil)

    /// The first errno value of a failed write to standard output, other than a closed reader; nil without one.
    static var outputFailure: Int32? { failure.withLock { $0 } }

    /// Writes the whole text. Returns false if the other end is closed, or if standard error is not read for two
    /// seconds, so that the program can end.
    @discardableResult
    func write(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        switch self {
        case .output:
            let code = CompleteWrite.write(bytes, to: rawValue)
            if let code, code != EPIPE { Self.failure.withLock { $0 = $0 ?? code } }
            return code == nil
        case .error: return TimedWrite.write(bytes, to: rawValue, timeout: .seconds(2)) == bytes.count
        }
    }
}
