internal import Glibc

/// Writes to files, and to streams without a timeout.
package enum CompleteWrite {
    /// Writes all bytes, also after interruptions and partial writes. Blocks.
    ///
    /// - Returns: nil, or the errno value of a failure.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + sent, $0.count - sent) }
            if count > 0 { sent += count } else if count == 0 { return ENOSPC } else if errno != EINTR { return errno }
        }
        return nil
    }
}
