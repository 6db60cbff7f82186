internal import Glibc

/// Where this program lies.
enum ProgramFile {
    /// Its path for a shell command.
    static var quotedPath: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path =
            count > 0 ? String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : "talkie"
        return ShellWord.quoted(path)
    }
}
