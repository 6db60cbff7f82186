import Foundation
import TalkieTestKit
import Testing

@testable import ProgramTestSupport

/// Films in which a colour and a tone identify each second.
///
/// Frames are 320x180 with a white block in the upper left quarter of each side. Made by ffmpeg (`TestClips`), copied
/// into one folder.
struct FeatureFilms {
    typealias Color = DisplayPicture.Color

    /// The colour of each second.
    static let colors = [
        Color(red: 200, green: 0, blue: 0), Color(red: 0, green: 180, blue: 0), Color(red: 0, green: 0, blue: 200),
        Color(red: 200, green: 200, blue: 0), Color(red: 0, green: 200, blue: 200),
        Color(red: 200, green: 0, blue: 200),
    ]
    /// The tones of each second on the first and second audio track, in Hz.
    static let tones = (0..<6).map { 400 + 150 * $0 }
    static let secondTones = (0..<6).map { 1500 + 150 * $0 }

    let scratch: Scratch
    init() throws { scratch = try Scratch() }

    /// Returns the second whose colour this is; nil for any other colour.
    static func second(of color: Color) -> Int? { colors.firstIndex { $0.distance(to: color) < 40 } }

    static func picture(_ seconds: [Int]) -> (inputs: [String], filter: String) {
        let inputs = seconds.flatMap { second -> [String] in
            let color = colors[second]
            let code = String(format: "0x%02X%02X%02X", color.red, color.green, color.blue)
            return ["-f", "lavfi", "-i", "color=c=\(code):s=320x180:r=25:d=1"]
        }
        let pads = seconds.indices.map { "[\($0)]" }.joined()
        return (inputs, "\(pads)concat=n=\(seconds.count),drawbox=0:0:iw/4:ih/4:white:fill")
    }

    /// Returns the ffmpeg source of a tone that rises by 150 Hz each second.
    static func tone(_ base: Int, _ seconds: Int, from first: Int = 0) -> [String] {
        let frequency = "\(base + 150 * first)+150*floor(t)"
        return ["-f", "lavfi", "-i", "aevalsrc=0.25*sin(2*PI*(\(frequency))*t):s=48000:d=\(seconds)"]
    }

    private func make(_ name: String, _ arguments: [String]) throws -> String {
        try TestClips.make(at: scratch.path(name), arguments)
        return scratch.path(name)
    }

    /// Creates a film of six seconds with a second video track in reverse order, and a second audio track in German.
    func film(_ name: String = "film.mkv", _ options: [String] = []) throws -> String {
        let (inputs, filter) = Self.picture(Array(0..<6))
        return try make(
            name,
            inputs + Self.tone(400, 6) + Self.tone(1500, 6) + [
                "-filter_complex", "\(filter),split[a][b];[b]reverse[c]", "-map", "[a]", "-map", "[c]", "-map", "6",
                "-map", "7",
                "-c:v", "ffv1", "-pix_fmt", "yuv444p", "-c:a", "flac", "-metadata:s:a:0", "language=eng",
                "-metadata:s:a:1",
                "language=deu",
            ] + options)
    }

    /// Creates a film of 24 seconds in which each colour and tone lasts for four.
    func slowFilm() throws -> String {
        let (inputs, filter) = Self.picture(Array(0..<6))
        return try make(
            "slow.mkv",
            inputs + ["-f", "lavfi", "-i", "aevalsrc=0.25*sin(2*PI*(400+150*floor(t/4))*t):s=48000:d=24"] + [
                "-filter_complex", "\(filter),setpts=4*PTS,fps=25[a]", "-map", "[a]", "-map", "6", "-c:v", "ffv1",
                "-pix_fmt", "yuv444p", "-c:a", "flac",
            ])
    }

    /// Creates a film of some of the seconds, with one track of each kind.
    func part(_ name: String, _ seconds: ClosedRange<Int>, _ options: [String] = []) throws -> String {
        let (inputs, filter) = Self.picture(Array(seconds))
        return try make(
            name,
            inputs + Self.tone(400, seconds.count, from: seconds.lowerBound) + [
                "-filter_complex", "\(filter)[a]", "-map", "[a]", "-map", "\(seconds.count)", "-c:v", "ffv1",
                "-pix_fmt", "yuv444p",
                "-c:a", "flac",
            ] + options)
    }

    /// Creates three seconds of interlaced video with white bars that move by 20 pixels per field.
    func combed() throws -> String {
        try make(
            "combed.mkv",
            [
                "-f", "lavfi", "-i",
                "nullsrc=s=320x180:r=50:d=3,format=gray,geq=lum='255*lt(mod(X+20*N\\,160)\\,80)',format=yuv420p,"
                    + "tinterlace=interleave_top",
            ] + Self.tone(400, 3) + ["-c:v", "ffv1", "-c:a", "flac"])
    }

    /// Creates three seconds of grey of 203 cd/m² in PQ (SMPTE ST 2084).
    func bright() throws -> String {
        try make(
            "bright.mkv",
            [
                "-f", "lavfi", "-i",
                "color=c=black:s=320x180:r=25:d=3,format=yuv420p10le,geq=lum=573:cb=512:cr=512",
            ] + Self.tone(400, 3) + [
                // FFmpeg 5.1 loses the parameters of frames between an input of lavfi and the encoder.
                "-vf", "setparams=range=tv:color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc",
                "-c:v", "ffv1", "-c:a", "flac",
            ])
    }

    /// Creates four seconds in 5.1: 400 Hz on the left, 1300 Hz in the centre, equally loud.
    func surround() throws -> String {
        try make(
            "surround.mkv",
            Self.picture(Array(0..<4)).inputs + [
                "-f", "lavfi", "-i",
                "aevalsrc=0.1*sin(2*PI*400*t)|0|0.1*sin(2*PI*1300*t)|0|0|0:c=5.1:s=48000:d=4", "-filter_complex",
                "\(Self.picture(Array(0..<4)).filter)[a]", "-map", "[a]", "-map", "4", "-c:v", "ffv1", "-pix_fmt",
                "yuv444p", "-c:a",
                "flac",
            ])
    }

    /// Creates six seconds, every second one of them 30 dB quieter.
    func loudAndQuiet() throws -> String {
        let (inputs, filter) = Self.picture(Array(0..<6))
        return try make(
            "loud.mkv",
            inputs + [
                "-f", "lavfi", "-i",
                "aevalsrc=(0.5-0.484*mod(floor(t)\\,2))*sin(2*PI*(400+150*floor(t))*t):s=48000:d=6", "-filter_complex",
                "\(filter)[a]", "-map", "[a]", "-map", "6", "-c:v", "ffv1", "-pix_fmt", "yuv444p", "-c:a", "flac",
            ])
    }

    /// Creates an image of one of the colours.
    func image(_ name: String, _ second: Int) throws -> String {
        let (inputs, _) = Self.picture([second])
        return try make(name, inputs + ["-frames:v", "1"])
    }

    /// Creates three seconds of audio with the first second's colour as embedded cover.
    func song() throws -> String {
        try make(
            "song.flac",
            Self.tone(400, 3) + [
                "-i", try image("inside.png", 0), "-map", "0", "-map", "1", "-disposition:v", "attached_pic",
            ])
    }

    /// Creates an HLS playlist whose higher variant repeats the first second of the film, and whose lower one the
    /// second.
    func qualities() throws -> String {
        for (name, second) in [("high", 0), ("low", 1)] {
            let (inputs, filter) = Self.picture([second, second, second])
            try TestClips.make(
                name + ".m3u8", in: scratch.folder.path,
                inputs + Self.tone(400 + 150 * second, 1) + [
                    "-filter_complex", "\(filter)[a];[3]aloop=2:48000,asetpts=N/SR/TB[b]", "-map", "[a]", "-map", "[b]",
                    "-c:v",
                    "mpeg2video", "-c:a", "mp2", "-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod",
                ])
        }
        return try scratch.file(
            "master.m3u8",
            Data(
                """
                #EXTM3U
                #EXT-X-STREAM-INF:BANDWIDTH=4000000,RESOLUTION=320x180
                high.m3u8
                #EXT-X-STREAM-INF:BANDWIDTH=400000,RESOLUTION=320x180
                low.m3u8

                """.utf8))
    }
}
