import Glibc
import TalkieTestKit

/// A temporary folder that is removed with this object.
final class ScratchFolder: Sendable {
    let path: String

    init() {
        path = "/tmp/talkie-scratch-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        mkdir(path, 0o755)
    }

    deinit {
        if let entries = opendir(path) {
            while let entry = readdir(entries) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                unlink(path + "/" + name)
            }
            closedir(entries)
        }
        rmdir(path)
    }

    func path(_ name: String) -> String { path + "/" + name }

    @discardableResult
    func write(_ bytes: [UInt8], to name: String) throws -> String {
        try TestClips.write(bytes, to: path(name))
        return path(name)
    }
}

/// Returns the number of this process's descriptors whose path in `/proc/self/fd` is accepted; the path excludes the
/// descriptors of other tests that run at the same time.
func openDescriptors(where isCounted: (String) -> Bool) -> Int {
    (0..<1024)
        .count { descriptor in
            var path = [CChar](repeating: 0, count: 4096)
            let length = readlink("/proc/self/fd/\(descriptor)", &path, path.count - 1)
            return length > 0
                && isCounted(String(decoding: path[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
}
