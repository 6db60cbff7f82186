import Glibc

/// Returns how many descriptors of this process are open on files whose path, as in `/proc/self/fd`, is accepted. Descriptors
/// that other tests of the process open at the same time are told apart by it.
func openDescriptors(where isCounted: (String) -> Bool) -> Int {
    (0..<1024)
        .count { descriptor in
            var path = [CChar](repeating: 0, count: 4096)
            let length = readlink("/proc/self/fd/\(descriptor)", &path, path.count - 1)
            return length > 0
                && isCounted(String(decoding: path[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
}
