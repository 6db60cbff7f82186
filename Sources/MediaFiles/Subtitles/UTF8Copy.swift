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
        guard let file = fopen(path, "rbe") else { return nil }
        defer { fclose(file) }
        let mark = [fgetc(file), fgetc(file)]
        guard mark == [0xFF, 0xFE] || mark == [0xFE, 0xFF] else { return nil }
        let isLittle = mark[0] == 0xFF
        let maxBytes = Int(SubtitleFile.maxBytes)
        var units: [UInt16] = []
        var pair = [UInt8](repeating: 0, count: 2)
        while units.count < maxBytes / 2, fread(&pair, 1, 2, file) == 2 {
            units.append(UInt16(pair[isLittle ? 1 : 0]) << 8 | UInt16(pair[isLittle ? 0 : 1]))
        }
        return Array(String(decoding: units, as: UTF16.self).utf8)
    }
}
