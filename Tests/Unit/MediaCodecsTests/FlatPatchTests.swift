import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

/// From the samples of a file to the window's colours, for each pixel format, range and matrix.
@Suite struct FlatPatchTests {
    static let films = [
        FlatPatchFilm("yuv420p", .planes(columns: 1, rows: 1)), FlatPatchFilm("yuv422p", .planes(columns: 1, rows: 0)),
        FlatPatchFilm("yuv444p", .planes(columns: 0, rows: 0)), FlatPatchFilm("yuv440p", .planes(columns: 0, rows: 1)),
        FlatPatchFilm("yuv411p", .planes(columns: 2, rows: 0)),
        FlatPatchFilm("yuv420p10le", .planes(columns: 1, rows: 1), bits: 10),
        FlatPatchFilm("yuv422p10le", .planes(columns: 1, rows: 0), bits: 10),
        FlatPatchFilm("yuv444p12le", .planes(columns: 0, rows: 0), bits: 12),
        FlatPatchFilm("gray10le", .luma, bits: 10),
        FlatPatchFilm("gbrp10le", .planarRGB, bits: 10), FlatPatchFilm("gbrp12le", .planarRGB, bits: 12),
        FlatPatchFilm("gbrp16le", .planarRGB, bits: 16), FlatPatchFilm("gbrp", .planarRGB, coding: "-c:v utvideo"),
        FlatPatchFilm("gbrp", .planarRGB, coding: "-c:v libvpx-vp9 -lossless 1"),
        FlatPatchFilm("bgr0", .packed("bgr0")), FlatPatchFilm("bgra", .packed("bgra")),
        FlatPatchFilm("rgb48le", .packed("rgb"), bits: 16),
        FlatPatchFilm("rgb24", .packed("rgb"), coding: "-c:v png", in: "mov"),
        FlatPatchFilm("rgba", .packed("rgba"), coding: "-c:v png", in: "mov"),
        FlatPatchFilm("bgr24", .packed("bgr"), coding: "-c:v libx264rgb -qp 0 -preset ultrafast", in: "mp4"),
    ]
    /// The frame's own size, a scaled one, and a width that is no multiple of a vector.
    static let sizes = [
        PixelSize(width: FlatPatchFilm.width, height: FlatPatchFilm.height),
        PixelSize(width: FlatPatchFilm.width * 2, height: FlatPatchFilm.height * 2),
        PixelSize(width: FlatPatchFilm.width + 11, height: FlatPatchFilm.height),
    ]

    @Test(arguments: films, FlatPatchFilm.System.all)
    func aPatchHasTheColourThatItsNumbersMean(_ film: FlatPatchFilm, _ system: FlatPatchFilm.System) throws {
        for isFull in [false, true] {
            let picture = try firstPicture(of: try film.written(system, isFull: isFull))
            let wanted = film.expected(system, isFull: isFull)
            let converter = SoftwareFrameConverter()
            for size in Self.sizes {
                var pixels = [UInt8](repeating: 0, count: size.width * size.height * 4)
                let isDone = pixels.withUnsafeMutableBytes {
                    converter.convert(
                        picture, to: PixelTarget(base: $0.baseAddress!, stride: size.width * 4, size: size))
                }
                #expect(isDone)
                for (index, color) in wanted.enumerated() {
                    let column = (index * 2 + 1) * size.width / (wanted.count * 2)
                    let at = (size.height / 2 * size.width + column) * 4
                    let found = [2, 1, 0].map { Int(pixels[at + $0]) }
                    let miss = zip(found, color).map { abs(Double($0) - $1) }.max()!
                    // 3 with libswscale 5, 3.12 with libswscale 10.
                    #expect(
                        miss <= 3.2, "\(isFull ? "full" : "limited"), \(size.width) wide: \(found), wanted \(color)")
                    #expect(pixels[at + 3] == 255)
                }
            }
        }
    }

    private func firstPicture(of path: String) throws -> any VideoFrame {
        let film = try MediaFile.open(path)
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        let decoder = try VideoDecoder(format: try #require(reader.track.videoFormat))
        while let buffer = try reader.read() {
            try decoder.send(buffer)
            if let picture = decoder.receive()?.videoFrame { return picture }
        }
        decoder.finish()
        return try #require(decoder.receive()?.videoFrame)
    }
}
