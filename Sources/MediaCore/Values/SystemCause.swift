internal import Glibc

/// Descriptions of errno(3) values for the end of a sentence or in brackets. Resource limits are named, so that users
/// know which one to raise.
package enum SystemCause {
    /// - Parameter code: an `errno` value; may be negated, as some libraries return it.
    package static func text(_ code: Int32) -> String {
        let code = abs(code)
        switch code {
        case EMFILE: return "too many open files and connections: ulimit -n"
        case ENFILE: return "too many open files on this computer; close other programs"
        case ENOMEM: return "out of memory" + memoryLimit
        case EFBIG: return "the file has reached its size limit: ulimit -f"
        default: return strerror(code).map { String(cString: $0) } ?? "error \(code)"
        }
    }

    /// Returns true if the system is out of a resource, so that a retry may succeed.
    package static func isExhaustion(_ code: Int32) -> Bool { [EMFILE, ENFILE, ENOMEM, EAGAIN].contains(abs(code)) }

    /// Names the memory limit, if one is set.
    static var memoryLimit: String {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(UInt32(RLIMIT_AS.rawValue)), &limit) == 0, limit.rlim_cur != .max else {
            return ""
        }
        return ": ulimit -v"
    }
}
