internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// A copy in memory, as UTF-8, of a UTF-16 file with a byte order mark. libavformat 5.1 converts such files, but loses
/// the second byte of characters that it peeks at, at the start of lines (ff_text_peek_r8).
final class UTF8Copy: Sendable {
    /// The path of the copy; valid as long as this object exists.
    let path: String
    private let descriptor: Int32

    /// Copies a file; nil if it is not UTF-16, or if there is no memory for the copy.
    init?(of original: String) {
        guard let bytes = Self.utf8(of: original) else { return nil }
        descriptor = cff_memory_file()
        guard descriptor >= 0 else { return nil }
        path = "/proc/self/fd/\(descriptor)"
        // `deinit` closes the descriptor.
        guard CompleteWrite.write(bytes, to: descriptor) == nil else { return nil }
    }

    deinit { close(descriptor) }

    private static func utf8(of path: String) -> [UInt8]? {
        let descriptor = FileBytes.openRegular(path)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        // ignored: reading the original reports the error.
        guard let mark = try? FileBytes.read(descriptor, maxBytes: 2), mark == [0xFF, 0xFE] || mark == [0xFE, 0xFF],
            let bytes = try? FileBytes.read(descriptor, maxBytes: Int(SubtitleFile.maxBytes))
        else { return nil }
        let (low, high) = mark[0] == 0xFF ? (0, 1) : (1, 0)
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2)
        for index in stride(from: 0, to: bytes.count - 1, by: 2) {
            units.append(UInt16(bytes[index + high]) << 8 | UInt16(bytes[index + low]))
        }
        return Array(String(decoding: units, as: UTF16.self).utf8)
    }
}
