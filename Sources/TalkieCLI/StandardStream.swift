internal import MediaCore

/// Standard output or standard error, written unbuffered.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    /// Writes the whole text. Returns false if the other end is closed, or if standard error is not read for two
    /// seconds, so that the program can end.
    @discardableResult
    func write(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        switch self {
        case .output: return CompleteWrite.write(bytes, to: rawValue) == nil
        case .error: return TimedWrite.write(bytes, to: rawValue, timeout: .seconds(2)) == bytes.count
        }
    }
}
