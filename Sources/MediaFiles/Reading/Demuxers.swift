internal import CFFmpeg

/// Which of libavformat's demuxers may be chosen.
enum Demuxers {
    /// Left out because they are no films (text, still pictures, subtitles alone) or reach beyond the file that was
    /// named (scripts that open other files, also themselves without end).
    private static let refused: Set<String> = [
        "aqtitle", "ass", "concat", "data", "ffmetadata", "image2", "image2pipe", "imf", "jacosub", "lavfi", "lrc",
        "microdvd", "mpl2", "mpsub", "pjs", "realtext", "sami", "sdp", "srt", "stl", "subviewer", "subviewer1", "sup",
        "tedcaptions", "tty", "vobsub", "vplayer", "bin", "adf", "idf", "xbin", "rawvideo", "vivo",
    ]

    /// Names of all others, separated by commas, as the `format_whitelist` option wants them.
    static let allowed: String = {
        var names: [String] = []
        var state: UnsafeMutableRawPointer?
        while let format = av_demuxer_iterate(&state) {
            guard let name = format.pointee.name else { continue }
            let text = String(cString: name)
            let isStill = text.hasSuffix("_pipe")
            if !isStill, !text.split(separator: ",").contains(where: { refused.contains(String($0)) }) {
                names.append(text)
            }
        }
        return names.joined(separator: ",")
    }()
}
