internal import Glibc

/// The executable of this process (proc(5), /proc/self/exe).
package enum ProgramFile {
    /// The absolute path; nil if /proc is not mounted. Ends in " (deleted)" if the file was replaced.
    package static let path: String? = {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }()
}
