internal import CFFmpeg

/// The demuxers of libavformat that are allowed.
enum Demuxers {
    /// Demuxers that are refused.
    ///
    /// Some are not films (text, still images, subtitles alone). Others reach beyond the given file: scripts that open
    /// other files, also themselves without end. The DASH demuxer of FFmpeg 5.1 opens segments past `io_open`: local
    /// files at a server's request, and https servers without verifying their certificate.
    private static let refused: Set<String> = subtitles.union([
        "concat", "dash", "data", "ffmetadata", "image2", "image2pipe", "imf", "lavfi", "sdp", "tty", "bin", "adf",
        "idf",
        "xbin",
        "rawvideo", "vivo",
    ])

    private static let subtitles: Set<String> = [
        "aqtitle", "ass", "jacosub", "lrc", "microdvd", "mpl2", "mpsub", "pjs", "realtext", "sami", "srt", "stl",
        "subviewer", "subviewer1", "sup", "tedcaptions", "vobsub", "vplayer",
    ]

    /// The demuxers for subtitle files, and containers that may hold only subtitles. VobSub opens its second file with
    /// the demuxer `mpeg`. WebVTT and SCC are not refused for films, because playlists contain them.
    static let forSubtitles: String = names { names in
        names.contains { subtitles.contains($0) || ["webvtt", "scc", "matroska", "mov", "mpeg"].contains($0) }
    }

    /// The names of all allowed demuxers, separated by commas, for the `format_whitelist` option.
    static let allowed: String = names { names in
        !names.contains { refused.contains($0) || $0.hasSuffix("_pipe") }
    }

    /// Returns the names of matching demuxers, separated by commas.
    ///
    /// - Parameter isWanted: Receives all aliases of one demuxer.
    private static func names(_ isWanted: ([String]) -> Bool) -> String {
        var names: [String] = []
        var state: UnsafeMutableRawPointer?
        while let format = av_demuxer_iterate(&state) {
            guard let name = format.pointee.name else { continue }
            let text = String(cString: name)
            if isWanted(text.split(separator: ",").map(String.init)) { names.append(text) }
        }
        return names.joined(separator: ",")
    }
}
