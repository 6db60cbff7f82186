internal import CFFmpeg
internal import Glibc
public import MediaCore

/// A file that contains only subtitles: SubRip, SubStation Alpha, WebVTT, MicroDVD, VobSub, PGS and other formats of
/// libavformat, also inside Matroska or MP4.
///
/// Its timestamps are film time, without an offset for the first line. Each source reads through its own input.
public final class SubtitleFile: MediaSource {
    /// The subtitle tracks of the file.
    public let summary: MediaSummary
    /// One sentence for each track without a decoder.
    public let warnings: [String]
    /// The size in bytes of a text file, which libavformat keeps in memory; 0 for other files.
    let textBytes: Int

    private let address: InputAddress
    /// The UTF-8 copy that is read instead, if the text is UTF-16.
    private let copy: UTF8Copy?
    private let options: ReadOptions
    private let formatName: String
    private let cancellation: Cancellation
    /// The probed input, until a source takes it over.
    private let probed: Lock<DemuxContext?>

    /// The maximum size in bytes of a text file: more text than a hundred films have.
    static let maxBytes: Int64 = 64 << 20
    /// The maximum size in bytes of VobSub's second file, which contains bitmaps.
    static let maxBitmapBytes: Int64 = 512 << 20

    /// Opens a subtitle file. Blocks.
    ///
    /// - Parameters:
    ///   - path: A path or `file:` URL of a regular file of at most 64 MB. For VobSub, either of the two files, whose
    ///     bitmaps may have 512 MB.
    ///   - cancellation: Cancels opening, and later every source of this file.
    /// - Throws: `cannotOpen`, `notPermitted`, `notMedia`, `unsupported`, `limitExceeded`, `exhausted` or `cancelled`.
    public static func open(
        _ path: String, options: ReadOptions = ReadOptions(), cancellation: Cancellation = Cancellation()
    ) throws(MediaError) -> SubtitleFile {
        LibrarySettings.once
        var address = try InputAddress(path)
        guard address.kind == .file else {
            throw MediaError(
                .unsupported,
                "subtitles must be local files, but \"\(address.text)\" is not; save it first")
        }
        if let pair = VobSubPair(either: address.path) {
            address = try InputAddress(pair.index)
            try check(pair.bitmaps, maxBytes: maxBitmapBytes)
        }
        try check(address.path, maxBytes: maxBytes)
        let copy = UTF8Copy(of: address.path)
        if let copy { address = address.read(from: copy.path) }
        var options = options
        options.purpose = .subtitles
        let context = try input(address, options, cancellation)
        return try SubtitleFile(context, address: address, copy, options: options, cancellation: cancellation)
    }

    /// Opens the input, a file named `.srt` also if it does not begin with the number of a cue: libavformat detects
    /// SubRip by that number.
    private static func input(
        _ address: InputAddress, _ options: ReadOptions, _ cancellation: Cancellation
    ) throws(MediaError) -> DemuxContext {
        do throws(MediaError) {
            return try DemuxContext(address, options: options, cancellations: [cancellation])
        } catch {
            guard error.code == .notMedia else { throw error }
            guard address.path.lowercased().hasSuffix(".srt") else { throw unknown(address) }
        }
        let context = try DemuxContext(address, options: options, cancellations: [cancellation], format: "srt")
        var hasCue = false
        try context.prime { _ in
            hasCue = true
            return true
        }
        guard hasCue else { throw unknown(address) }
        return context
    }

    private init(
        _ context: DemuxContext, address: InputAddress, _ copy: UTF8Copy?, options: ReadOptions,
        cancellation: Cancellation
    ) throws(MediaError) {
        self.copy = copy
        self.address = address
        self.options = options
        self.cancellation = cancellation
        formatName = context.formatName
        // The container of VobSub's bitmaps alone is not a subtitle file.
        if formatName == "mpeg" { throw Self.unknown(address) }
        let inspection = SubtitleInspection(context)
        guard !inspection.streams.isEmpty else {
            throw inspection.problems.first.map {
                MediaError(.unsupported, "cannot show \"\(address.text)\": \($0)")
            } ?? MediaError(.notMedia, "\"\(address.text)\" contains no subtitles; try another file")
        }
        warnings = inspection.problems
        let hasText = inspection.streams.contains { stream in
            let descriptor = avcodec_descriptor_get(stream.pointee.codecpar.pointee.codec_id)
            return descriptor.map { $0.pointee.props & AV_CODEC_PROP_TEXT_SUB != 0 } ?? false
        }
        // Matroska and MP4 are UTF-8 by definition.
        let isText = hasText && !formatName.hasPrefix("matroska") && !formatName.hasPrefix("mov")
        let tracks = inspection.tracks(charset: isText ? TextCharset.guess(address.path) : nil)
        textBytes = isText ? Self.byteCount(of: address.path) : 0
        summary = MediaSummary(container: formatName.split(separator: ",").first.map(String.init) ?? "", tracks: tracks)
        probed = Lock(context)
    }

    /// Returns a source of a track. The first source takes over the probed input; further ones open the file again.
    public func source(for track: Track) throws(MediaError) -> any SampleSource { try source(for: track.id, as: track) }

    /// Returns a source of a stream.
    ///
    /// - Parameter track: The track that the source reports.
    func source(for id: Int, as track: Track) throws(MediaError) -> any SampleSource {
        let own = Cancellation()
        let context: DemuxContext
        if let first = probed.withLock({ $0.take() }) {
            first.waiting.add(own)
            context = first
        } else {
            context = try DemuxContext(
                address, options: options, cancellations: [cancellation, own],
                format: formatName.split(separator: ",").first.map(String.init))
        }
        guard let stream = context.streams.first(where: { Int($0.pointee.index) == id }),
            stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_SUBTITLE
        else {
            throw MediaError(.readFailed, "\"\(address.text)\" changed while it was being read; open it again")
        }
        return SubtitleReader(
            track: track, context: context, stream: stream, companions: [], origin: FilmOrigin(common: .zero),
            jumps: TimestampDiscontinuities(),
            cancellation: own, options: options)
    }

    /// Cancels opening and all sources of this file. Any thread; returns at once.
    public func cancel() { cancellation.cancel() }

    private static func unknown(_ address: InputAddress) -> MediaError {
        MediaError(
            .notMedia, "\"\(address.text)\" is not a supported subtitle file, or it is damaged; try another one")
    }

    /// Returns the size of a file in bytes; 0 if there is none.
    static func byteCount(of path: String) -> Int {
        var status = stat()
        return stat(path.systemPath, &status) == 0 ? status.st_size : 0
    }

    private static func check(_ path: String, maxBytes: Int64) throws(MediaError) {
        let name = PrintableText.withoutCredentials(path)
        var status = stat()
        guard stat(path.systemPath, &status) == 0 else {
            throw MediaError(.cannotOpen, "there is no file \"\(name)\", which belongs to the subtitles; copy it too")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw MediaError(.unsupported, "\"\(name)\" is not a regular file; subtitles must be regular files")
        }
        if status.st_size > maxBytes {
            throw MediaError(.limitExceeded, "\"\(name)\" is larger than \(maxBytes >> 20) MB, too large for subtitles")
        }
    }
}
