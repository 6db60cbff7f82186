internal import Glibc
internal import MediaCore

/// Standard output or standard error, written unbuffered.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    /// Writes the whole text. Returns false if the other end is closed, or if standard error is not read for two
    /// seconds, so that the program can end.
    @discardableResult
    func write(_ text: String) -> Bool {
        if self == .error {
            let bytes = Array(text.utf8)
            return TimedWrite.write(bytes, to: rawValue, timeout: .seconds(2)) == bytes.count
        }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return false
            }
        }
        return true
    }
}
