internal import Glibc

/// What the system says with an error number (errno(3)), in words that end a sentence or stand in brackets. A limit is
/// told by its name, so that a person knows what to raise.
package enum SystemCause {
    /// - Parameter code: as in `errno`; the sign does not matter, because libraries negate it.
    package static func text(_ code: Int32) -> String {
        let code = abs(code)
        switch code {
        case EMFILE: return "the program has as many files and connections open as it may: ulimit -n"
        case ENFILE: return "this computer has as many files open as it can; close other programs"
        case ENOMEM: return "there is not enough memory left" + memoryLimit
        case EFBIG: return "the file may grow no further: ulimit -f"
        default: return strerror(code).map { String(cString: $0) } ?? "error \(code)"
        }
    }

    /// The system gives no more of something now, whatever was asked for; later it may.
    package static func isExhaustion(_ code: Int32) -> Bool { [EMFILE, ENFILE, ENOMEM, EAGAIN].contains(abs(code)) }

    /// Names the limit of memory where there is one.
    static var memoryLimit: String {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(UInt32(RLIMIT_AS.rawValue)), &limit) == 0, limit.rlim_cur != .max else {
            return ""
        }
        return ": ulimit -v"
    }
}
