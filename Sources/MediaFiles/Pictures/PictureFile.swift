internal import Glibc
public import MediaCore

/// A file that holds one picture: a photograph, a cover. As a film it lasts as long as somebody wants to look at it.
///
/// The file is read whole; its pixels are not looked at before the picture is shown.
public final class PictureFile: MediaSource {
    public let summary: MediaSummary
    private let batch: PacketBatch

    /// Larger than any photograph that is not raw data.
    static let mostBytes: Int64 = 128 << 20
    /// Longer than anybody looks at one picture, and short enough for every clock: a year.
    static let longest = MediaTime(value: 365 * 86_400, timescale: 1)
    /// Names of what is a film although its first bytes are a picture's.
    private static let films: Set<String> = ["mjpeg", "mjpg", "avi", "mov"]
    /// Names of what begins like TIFF and is one: others are cameras' own.
    private static let tiffs: Set<String> = ["tif", "tiff"]

    /// Opens a file where it is a still picture.
    ///
    /// - Parameters:
    ///   - path: a path or `file:` URL; anything else is no picture.
    ///   - duration: how long it is shown; nil until somebody goes on.
    /// - Returns: nil where it is something else, moving pictures (GIF, APNG) among it: `MediaFile` opens those.
    /// - Throws: `limitExceeded` for a picture that is too large, or `readFailed`.
    public static func open(_ path: String, showingFor duration: Duration?) throws(MediaError) -> PictureFile? {
        // ignored: opening it as a film reports an address that cannot be understood.
        guard let address = try? InputAddress(path), address.kind == .file else { return nil }
        let ending = address.path.lastIndex(of: ".").map { address.path[address.path.index(after: $0)...].lowercased() }
        if let ending, films.contains(ending) { return nil }
        // ignored: what cannot be read is no picture so far; opening it as a film says why.
        guard let start = try? read(address, atMost: headBytes), looksLikePicture(start) else { return nil }
        guard let bytes = try read(address, atMost: Int(mostBytes)) else {
            throw MediaError(
                .limitExceeded, "\"\(address.text)\" is larger than \(mostBytes >> 20) MB, too large for a picture")
        }
        guard let header = bytes.withUnsafeBytes({ PictureHeader($0) }), !header.isAnimated || header.codec == "webp",
            header.codec != "tiff" || ending.map(tiffs.contains) ?? false
        else { return nil }
        return try PictureFile(address, header, bytes, isCover: false, duration)
    }

    /// Opens a picture that lies beside a recording.
    ///
    /// - Throws: as `open`, and `notMedia` where it is none.
    static func cover(_ path: String) throws(MediaError) -> PictureFile {
        let address = try InputAddress(path)
        guard address.kind == .file else {
            throw MediaError(.unsupported, "\"\(address.text)\" is no file of this computer; covers are such only")
        }
        guard let bytes = try read(address, atMost: Int(mostBytes)) else {
            throw MediaError(
                .limitExceeded, "\"\(address.text)\" is larger than \(mostBytes >> 20) MB, too large for a cover")
        }
        guard let header = bytes.withUnsafeBytes({ PictureHeader($0) }) else {
            throw MediaError(.notMedia, "\"\(address.text)\" is no picture that Talkie knows, or it is damaged")
        }
        return try PictureFile(address, header, bytes, isCover: true, nil)
    }

    private init(
        _ address: InputAddress, _ header: PictureHeader, _ bytes: [UInt8], isCover: Bool, _ duration: Duration?
    ) throws(MediaError) {
        if let problem = FormatReading.problem(with: header) {
            throw MediaError(problem.code, "\"\(address.text)\" \(problem.text)")
        }
        let shown = duration.map { min(MediaTime(nanoseconds: $0.wholeNanoseconds), Self.longest) }
        var track = Track(
            id: 0, number: 1, format: .video(FormatReading.video(header)), isCoverArt: isCover, start: .zero,
            duration: isCover ? nil : shown ?? Self.longest)
        track.isPicture = !isCover
        batch = bytes.withUnsafeBytes { PictureReader.batch($0, for: track.duration ?? .zero) }
        summary = MediaSummary(container: header.codec, tracks: [track], duration: shown)
    }

    public func source(for track: Track) throws(MediaError) -> any SampleSource { PictureReader(track: track, batch) }

    // MARK: Reading

    private static let headBytes = 32

    /// Enough to leave every film alone.
    private static func looksLikePicture(_ start: [UInt8]) -> Bool {
        func says(_ text: String, _ place: Int = 0) -> Bool { start.dropFirst(place).starts(with: Array(text.utf8)) }
        return start.starts(with: [0xFF, 0xD8, 0xFF]) || start.starts(with: [0x89, 0x50, 0x4E, 0x47])
            || (says("RIFF") && says("WEBP", 8)) || says("GIF8") || says("BM") || says("II*\0") || says("MM\0*")
    }

    /// The whole file, or its first bytes where it is asked for less; nil where there is more than may be read.
    private static func read(_ address: InputAddress, atMost most: Int) throws(MediaError) -> [UInt8]? {
        let descriptor = Glibc.open(address.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw MediaError(
                errno == EACCES ? .notPermitted : .cannotOpen,
                "cannot open \"\(address.text)\": \(SystemCause.text(errno))")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        if most > headBytes, status.st_size > most { return nil }
        let wanted = min(most, Int(status.st_size))
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
            while count < wanted {
                let piece = Glibc.read(descriptor, buffer.baseAddress! + count, wanted - count)
                if piece < 0, errno == EINTR { continue }
                if piece < 0 { code = errno }
                guard piece > 0 else { break }
                count += piece
            }
        }
        if code != 0 {
            throw MediaError(.readFailed, "cannot read \"\(address.text)\": \(SystemCause.text(code))")
        }
        return bytes
    }
}

extension FormatReading {
    /// A picture by its own header.
    static func video(_ header: PictureHeader) -> VideoFormat {
        VideoFormat(
            parameters: CodecParameters(codec: header.codec), size: header.size, rotation: header.rotation)
    }

    /// Nil when the picture can be shown.
    static func problem(with header: PictureHeader) -> Problem? {
        let (width, height) = (Int32(clamping: header.size.width), Int32(clamping: header.size.height))
        return isSensible(width: width, height: height) ? nil : oversized(width: width, height: height)
    }
}
