internal import Glibc
public import MediaCore

/// A file with one still image, such as a photograph or a cover. It is shown for a given duration or until the user
/// continues.
///
/// The file is read completely when it is opened; it is decoded when shown.
public final class ImageFile: MediaSource {
    /// The image's track.
    public let summary: MediaSummary
    private let batch: PacketBatch

    /// The maximum size in bytes: larger than any photograph that is not raw data.
    static let maxBytes: Int64 = 128 << 20
    /// The maximum duration: a year, which fits into every clock.
    static let longest = MediaTime(value: 365 * 86_400, timescale: 1)
    /// The extensions of videos whose first bytes are those of an image.
    private static let films: Set<String> = ["mjpeg", "mjpg", "avi", "mov"]
    /// The extensions of real TIFF files; others with the same first bytes are camera formats.
    private static let tiffs: Set<String> = ["tif", "tiff"]

    /// Opens a still image. Blocks.
    ///
    /// - Parameters:
    ///   - path: A path or `file:` URL; for other addresses the result is nil.
    ///   - duration: How long it is shown; nil: until the user continues.
    ///   - cancellation: Cancels reading.
    /// - Returns: Nil for other files, including animations (GIF, APNG), which `MediaFile` opens.
    /// - Throws: `limitExceeded` for an image that is too large; `readFailed`, `cannotOpen`,
    ///   `notPermitted` or `cancelled`.
    public static func open(
        _ path: String, showingFor duration: Duration?, cancellation: Cancellation = Cancellation()
    ) throws(MediaError) -> ImageFile? {
        // ignored: opening it as a film reports an invalid address.
        guard let address = try? InputAddress(path), address.kind == .file else { return nil }
        let ending = address.path.lastIndex(of: ".").map { address.path[address.path.index(after: $0)...].lowercased() }
        if let ending, films.contains(ending) { return nil }
        // ignored: an unreadable file is not an image; opening it as a film reports the reason.
        guard let start = try? read(address, maxBytes: headBytes), looksLikeImage(start) else { return nil }
        guard let bytes = try read(address, maxBytes: Int(maxBytes), cancellation) else {
            throw MediaError(
                .limitExceeded, "\"\(address.text)\" is larger than \(maxBytes >> 20) MB, too large for a picture")
        }
        guard let header = bytes.withUnsafeBytes({ ImageHeader($0) }), !header.isAnimated || header.codec == "webp",
            header.codec != "tiff" || ending.map(tiffs.contains) ?? false
        else { return nil }
        return try ImageFile(address, header: header, bytes: bytes, isCover: false, duration: duration)
    }

    /// Opens the cover of a recording. Blocks.
    ///
    /// - Throws: Same as `open`, `unsupported` for other addresses than files, and `notMedia` for a file that is not an
    ///   image.
    static func cover(_ path: String) throws(MediaError) -> ImageFile {
        let address = try InputAddress(path)
        guard address.kind == .file else {
            throw MediaError(.unsupported, "\"\(address.text)\" is not a local file; covers must be local files")
        }
        guard let bytes = try read(address, maxBytes: Int(maxBytes)) else {
            throw MediaError(
                .limitExceeded, "\"\(address.text)\" is larger than \(maxBytes >> 20) MB, too large for a cover")
        }
        guard let header = bytes.withUnsafeBytes({ ImageHeader($0) }) else {
            throw MediaError(.notMedia, "\"\(address.text)\" is not a supported picture, or it is damaged")
        }
        return try ImageFile(address, header: header, bytes: bytes, isCover: true, duration: nil)
    }

    private init(
        _ address: InputAddress, header: ImageHeader, bytes: [UInt8], isCover: Bool, duration: Duration?
    ) throws(MediaError) {
        if let problem = FormatReading.problem(with: header) {
            throw MediaError(problem.code, "\"\(address.text)\" \(problem.text)")
        }
        let shown = duration.map { min(MediaTime(nanoseconds: $0.wholeNanoseconds), Self.longest) }
        var track = Track(
            id: 0, number: 1, format: .video(FormatReading.video(header)), isCoverArt: isCover, start: .zero,
            duration: isCover ? nil : shown ?? Self.longest)
        track.isStillImage = !isCover
        batch = bytes.withUnsafeBytes { ImageReader.batch($0, for: track.duration ?? .zero) }
        summary = MediaSummary(container: header.codec, tracks: [track], duration: shown)
    }

    /// Returns a source of the image. Does not block.
    public func source(for track: Track) throws(MediaError) -> any SampleSource { ImageReader(track: track, batch) }

    // MARK: Reading

    private static let headBytes = 32

    /// Whether the first bytes are those of an image format.
    private static func looksLikeImage(_ start: [UInt8]) -> Bool {
        func says(_ text: String, _ offset: Int = 0) -> Bool { start.dropFirst(offset).starts(with: Array(text.utf8)) }
        return start.starts(with: [0xFF, 0xD8, 0xFF]) || start.starts(with: [0x89, 0x50, 0x4E, 0x47])
            || (says("RIFF") && says("WEBP", 8)) || says("GIF8") || says("BM") || says("II*\0") || says("MM\0*")
    }

    /// Returns the contents or, up to `headBytes`, the first bytes; nil if the file is larger than `maxBytes` or not a
    /// regular file.
    private static func read(
        _ address: InputAddress, maxBytes: Int, _ cancellation: Cancellation = Cancellation()
    ) throws(MediaError) -> [UInt8]? {
        let descriptor = FileBytes.openRegular(address.path)
        guard descriptor >= 0 else {
            if errno == ENOTSUP || errno == EISDIR { return nil }
            throw MediaError(
                errno == EACCES ? .notPermitted : .cannotOpen,
                "cannot open \"\(address.text)\": \(SystemCause.text(errno))")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        if maxBytes > headBytes, status.st_size > maxBytes { return nil }
        do throws(FileBytes.Failure) {
            return try FileBytes.read(descriptor, maxBytes: min(maxBytes, Int(status.st_size))) { file, buffer, count in
                guard !cancellation.isCancelled else {
                    errno = ECANCELED
                    return -1
                }
                return Glibc.read(file, buffer, count)
            }
        } catch {
            if error.code == ECANCELED { throw MediaError(.cancelled, "reading \"\(address.text)\" was cancelled") }
            throw MediaError(.readFailed, "cannot read \"\(address.text)\": \(SystemCause.text(error.code))")
        }
    }
}

extension FormatReading {
    /// Returns the format of an image from its header.
    static func video(_ header: ImageHeader) -> VideoFormat {
        VideoFormat(
            parameters: CodecParameters(codec: header.codec), size: header.size, rotation: header.rotation)
    }

    /// Returns nil if the image can be displayed.
    static func problem(with header: ImageHeader) -> Problem? {
        let (width, height) = (Int32(clamping: header.size.width), Int32(clamping: header.size.height))
        return isSensible(width: width, height: height) ? nil : oversized(width: width, height: height)
    }
}
