internal import CFFmpeg

/// Which of libavformat's demuxers may be chosen.
enum Demuxers {
    /// Left out because they are no films (text, still pictures, subtitles alone) or reach beyond the file that was
    /// named (scripts that open other files, also themselves without end; DASH, whose demuxer in FFmpeg 5.1 opens pieces past
    /// `io_open`: files on a server's word, and https servers unasked for their certificate).
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

    /// For a file of subtitles: those, and the containers in which subtitles lie alone. VobSub opens its second file by the
    /// demuxer `mpeg`. WebVTT and SCC are no reason for a film to be refused, because playlists have them.
    static let forSubtitles: String = names { names in
        names.contains { subtitles.contains($0) || ["webvtt", "scc", "matroska", "mov", "mpeg"].contains($0) }
    }

    /// Names of all others, separated by commas, as the `format_whitelist` option wants them.
    static let allowed: String = names { names in
        !names.contains { refused.contains($0) || $0.hasSuffix("_pipe") }
    }

    /// - Parameter isWanted: takes all names of one demuxer.
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
