internal import CFFmpeg
internal import MediaCore

/// Finds the subtitle streams of an opened input and its embedded fonts.
struct SubtitleInspection {
    /// The decodable streams, in the container's order.
    private(set) var streams: [UnsafeMutablePointer<AVStream>] = []
    /// One sentence for each other stream, and one for dropped fonts.
    private(set) var problems: [String] = []
    private(set) var fonts: [EmbeddedFont] = []

    /// The limits of embedded fonts: a few of the largest (20 MB for all of Chinese), or many small ones.
    static let largestFont = 16 << 20
    static let maxFontBytes = 48 << 20
    static let maxFonts = 200

    init(_ context: DemuxContext) {
        for stream in context.streams {
            guard let parameters = stream.pointee.codecpar,
                parameters.pointee.codec_type == AVMEDIA_TYPE_SUBTITLE
            else { continue }
            if let problem = FormatReading.problem(with: parameters) {
                problems.append("track \(stream.pointee.index + 1), subtitles, \(problem.text)")
            } else {
                streams.append(stream)
            }
        }
        if streams.contains(where: Self.namesFonts) { collectFonts(context) }
    }

    private static func namesFonts(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        [AV_CODEC_ID_ASS, AV_CODEC_ID_SSA].contains(stream.pointee.codecpar.pointee.codec_id)
    }

    private mutating func collectFonts(_ context: DemuxContext) {
        var (total, left) = (0, 0)
        for stream in context.streams {
            guard let parameters = stream.pointee.codecpar, parameters.pointee.codec_type == AVMEDIA_TYPE_ATTACHMENT,
                let bytes = parameters.pointee.extradata, parameters.pointee.extradata_size > 0
            else { continue }
            let name = DemuxContext.value(of: "filename", in: stream.pointee.metadata) ?? ""
            let type = DemuxContext.value(of: "mimetype", in: stream.pointee.metadata) ?? ""
            guard Self.isFont(name: name, type: type, parameters.pointee.codec_id) else { continue }
            let size = Int(parameters.pointee.extradata_size)
            guard size <= Self.largestFont, total + size <= Self.maxFontBytes, fonts.count < Self.maxFonts else {
                left += 1
                continue
            }
            total += size
            fonts.append(EmbeddedFont(name: name, bytes: Array(UnsafeBufferPointer(start: bytes, count: size))))
        }
        if left > 0 {
            problems.append(
                "\(left) of the film's fonts were skipped because they are too large together; "
                    + "some subtitles may look different")
        }
    }

    private static func isFont(name: String, type: String, _ codec: AVCodecID) -> Bool {
        if codec == AV_CODEC_ID_TTF || codec == AV_CODEC_ID_OTF { return true }
        let (name, type) = (name.lowercased(), type.lowercased())
        return [".ttf", ".otf", ".ttc"].contains { name.hasSuffix($0) } || type.hasPrefix("font/")
            || type.contains("truetype") || type.contains("opentype") || type.contains("font-sfnt")
    }

    /// Returns the subtitle tracks.
    ///
    /// - Parameters:
    ///   - charset: The encoding of text that is not UTF-8; nil: UTF-8.
    ///   - picture: The size of the film's video, for bitmap formats without a canvas.
    func tracks(charset: String? = nil, picture: PixelSize? = nil) -> [Track] {
        streams.enumerated().map { index, stream in
            let disposition = stream.pointee.disposition
            let language = DemuxContext.value(of: "language", in: stream.pointee.metadata)
            let fonts = Self.namesFonts(stream) ? fonts : []
            return Track(
                id: Int(stream.pointee.index), number: index + 1,
                format: .subtitle(
                    FormatReading.subtitle(
                        UnsafePointer(stream.pointee.codecpar!), charset: charset, picture: picture, fonts: fonts)),
                language: language == "und" ? nil : language,
                title: DemuxContext.value(of: "title", in: stream.pointee.metadata),
                isDefault: disposition & AV_DISPOSITION_DEFAULT != 0,
                purpose: disposition & AV_DISPOSITION_COMMENT != 0 ? .commentary : .main,
                isForced: disposition & AV_DISPOSITION_FORCED != 0,
                isForHearingImpaired: disposition & AV_DISPOSITION_HEARING_IMPAIRED != 0)
        }
    }
}
