import Glibc

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
