internal import MediaCodecs

/// Checks whether common films can be decoded.
enum DecoderCheck {
    /// FFmpeg's names of common codecs.
    private static let videoCodecs = [
        "h264", "hevc", "vp8", "vp9", "av1", "mpeg2video", "mpeg4", "prores",
    ]
    private static let audioCodecs = ["aac", "mp3", "ac3", "eac3", "dts", "opus", "vorbis", "flac", "alac", "truehd"]

    static func findings() -> [Finding] {
        let versions = CodecInventory.libraries.map { "\($0.name) \($0.version)" }.joined(separator: ", ")
        var findings = [Finding("FFmpeg", .good, versions)]
        let missing = (videoCodecs + audioCodecs).filter { !CodecInventory.canDecode($0) }
        if missing.isEmpty {
            findings.append(Finding("decoders", .good, (videoCodecs + audioCodecs).joined(separator: ", ")))
        } else {
            findings.append(
                Finding(
                    "decoders", .limited, "no decoder for \(missing.joined(separator: ", "))",
                    remedy: "install an FFmpeg that was built with them"))
        }
        if !CodecInventory.canRead(protocol: "https") {
            findings.append(
                Finding(
                    "network", .limited, "this FFmpeg cannot open https addresses",
                    remedy: "install an FFmpeg that was built with GnuTLS or OpenSSL"))
        }
        return findings
    }
}
