internal import Glibc
internal import MediaCore
internal import Storage

/// Identifies a film for stored state: a hash (FNV-1a, RFC 9923) of path, size and modification time, or of a network
/// address. It does not reveal name or folder.
struct FilmKey: Hashable, Sendable {
    /// Sixteen hexadecimal digits.
    let text: String

    /// Computes the key. Nil for standard input, pipes and missing files, and for addresses with credentials.
    init?(_ address: String) {
        if address == "-" { return nil }
        if InputCheck.isAddress(address) {
            guard PrintableText.withoutCredentials(address) == address else { return nil }
            text = Self.hash(Array(address.utf8))
            return
        }
        var status = stat()
        guard stat(address.systemPath, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let path = realpath(address.systemPath, nil)
        else { return nil }
        defer { free(path) }
        let fields = "\(status.st_size) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
        text = Self.hash(
            Array(UnsafeBufferPointer(start: path, count: strlen(path))).map(UInt8.init(bitPattern:)) + [0]
                + Array(fields.utf8))
    }

    /// Parses a stored key.
    init?(kept text: String) {
        guard text.utf8.count == 16, Hexadecimal.bytes(text) != nil else { return nil }
        self.text = text
    }

    private static func hash(_ bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Hexadecimal.text(withUnsafeBytes(of: hash.bigEndian) { Array($0) })
    }
}
