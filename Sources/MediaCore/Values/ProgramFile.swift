internal import Glibc

/// The file that this process runs (proc(5), /proc/self/exe).
package enum ProgramFile {
    /// Absolute; nil where /proc is not there. Of a file that was replaced meanwhile it ends in " (deleted)".
    package static let path: String? = {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }()
}
