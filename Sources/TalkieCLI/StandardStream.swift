internal import Glibc
internal import MediaCore

/// Standard output or error, written whole and at once.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    /// Writes all of the text. Returns false when the other end is closed, or standard error is not read for two seconds: the end of
    /// the program does not wait for it.
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
