internal import Glibc

/// Standard output or error, written whole and at once.
enum StandardStream: Int32 {
    case output = 1
    case error = 2

    /// Writes all of the text; gives up silently, with false, when nobody listens any more.
    @discardableResult
    func write(_ text: String) -> Bool {
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
