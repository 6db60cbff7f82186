import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

/// A frame of one colour in separate memory.
private final class FlatPicture: VideoFrame {
    let size: PixelSize
    let pixelFormat = PixelFormat.yuv420p
    let pixelAspect = Ratio.one
    let rotation = 0
    let color: ColorDescription
    let bitDepth = 8
    private let planes: [[UInt8]]

    init(_ y: UInt8, _ u: UInt8, _ v: UInt8, size: PixelSize, color: ColorDescription) {
        self.size = size
        self.color = color
        let half = ((size.width + 1) / 2) * ((size.height + 1) / 2)
        planes = [
            [UInt8](repeating: y, count: size.width * size.height), [UInt8](repeating: u, count: half),
            [UInt8](repeating: v, count: half),
        ]
    }

    func withPlanes<Result>(_ body: (VideoFramePlanes) -> Result) -> Result {
        planes[0].withUnsafeBufferPointer { y in
            planes[1].withUnsafeBufferPointer { u in
                planes[2].withUnsafeBufferPointer { v in
                    let half = (size.width + 1) / 2
                    return body(
                        VideoFramePlanes(
                            bases: (y.baseAddress, u.baseAddress, v.baseAddress, nil),
                            strides: (size.width, half, half, 0)))
                }
            }
        }
    }
}

@Suite struct PictureConverterTests {
    /// Returns red, green and blue by the matrices of ITU-R BT.601, 709 and 2020, computed from their luma weights.
    private func expected(_ y: Double, _ u: Double, _ v: Double, red: Double, blue: Double, full: Bool) -> [Double] {
        let luma = full ? y : (y - 16) * 255 / 219
        let (b, r) = full ? (u - 128, v - 128) : ((u - 128) * 255 / 224, (v - 128) * 255 / 224)
        let green = 1 - red - blue
        let rr = luma + 2 * (1 - red) * r
        let bb = luma + 2 * (1 - blue) * b
        let gg = luma - (2 * (1 - red) * red * r + 2 * (1 - blue) * blue * b) / green
        return [bb, gg, rr].map { min(255, max(0, $0)) }
    }

    static let systems: [(matrix: UInt8, red: Double, blue: Double)] = [
        (6, 0.299, 0.114), (1, 0.2126, 0.0722), (9, 0.2627, 0.0593),
    ]

    @Test(arguments: systems, [false, true])
    func coloursComeOutByThePicturesOwnMatrixAndRange(
        _ system: (matrix: UInt8, red: Double, blue: Double), _ full: Bool
    ) {
        let converter = SoftwareFrameConverter()
        for (y, u, v) in [(81, 90, 240), (145, 54, 34), (41, 240, 110), (200, 128, 128), (120, 100, 150)] {
            let size = PixelSize(width: 64, height: 32)
            let picture = FlatPicture(
                UInt8(y), UInt8(u), UInt8(v), size: size,
                color: ColorDescription(matrix: system.matrix, isFullRange: full))
            var pixels = [UInt8](repeating: 0, count: 64 * 32 * 4)
            let done = pixels.withUnsafeMutableBytes {
                converter.convert(picture, to: PixelTarget(base: $0.baseAddress!, stride: 256, size: size))
            }
            #expect(done)
            let wanted = expected(Double(y), Double(u), Double(v), red: system.red, blue: system.blue, full: full)
            let middle = (16 * 64 + 32) * 4
            for channel in 0..<3 { #expect(abs(Double(pixels[middle + channel]) - wanted[channel]) < 4) }
            #expect(pixels[middle + 3] == 255)
        }
    }

    /// Vector code works in blocks of pixels: the last columns and rows must be written, and memory beyond them must
    /// not.
    @Test(arguments: [854, 853, 640, 322, 17, 16, 7, 2], [480, 31, 2])
    func everyPixelIsWrittenAndNoneBeyond(_ width: Int, _ height: Int) {
        let target = PixelSize(width: width, height: height)
        for source in [target, PixelSize(width: 128, height: 72)] {
            let converter = SoftwareFrameConverter()
            let picture = FlatPicture(235, 128, 128, size: source, color: ColorDescription(matrix: 1))
            for padding in [0, 12, 64] {
                let stride = width * 4 + padding
                var pixels = [UInt8](repeating: 7, count: stride * height + 256)
                let done = pixels.withUnsafeMutableBytes {
                    converter.convert(picture, to: PixelTarget(base: $0.baseAddress!, stride: stride, size: target))
                }
                #expect(done)
                var (dark, spoilt) = (0, 0)
                for row in 0..<height {
                    for column in 0..<width where pixels[row * stride + column * 4] < 250 { dark += 1 }
                    for byte in width * 4..<stride where pixels[row * stride + byte] != 7 { spoilt += 1 }
                }
                #expect(dark == 0)
                #expect(spoilt == 0)
                #expect(pixels.suffix(256).allSatisfy { $0 == 7 })
            }
        }
    }

    @Test func scalingFillsTheTargetAndKeepsTheColour() {
        let converter = SoftwareFrameConverter()
        let picture = FlatPicture(
            81, 90, 240, size: PixelSize(width: 640, height: 360), color: ColorDescription(matrix: 1))
        for size in [PixelSize(width: 1280, height: 720), PixelSize(width: 333, height: 187)] {
            var pixels = [UInt8](repeating: 0, count: size.width * size.height * 4)
            let done = pixels.withUnsafeMutableBytes {
                converter.convert(picture, to: PixelTarget(base: $0.baseAddress!, stride: size.width * 4, size: size))
            }
            #expect(done)
            let wanted = expected(81, 90, 240, red: 0.2126, blue: 0.0722, full: false)
            for place in [0, size.width - 1, size.width * (size.height - 1), size.width * size.height - 1] {
                for channel in 0..<3 { #expect(abs(Double(pixels[place * 4 + channel]) - wanted[channel]) < 5) }
            }
        }
    }

    @Test func toPlanesTheNumbersKeepTheirMeaning() {
        let converter = SoftwareFrameConverter()
        let size = PixelSize(width: 64, height: 32)
        for full in [false, true] {
            let picture = FlatPicture(
                200, 90, 140, size: size, color: ColorDescription(matrix: 9, isFullRange: full))
            var luma = [UInt8](repeating: 0, count: 64 * 32)
            var chroma = [UInt8](repeating: 0, count: 64 * 16)
            let done = luma.withUnsafeMutableBytes { luma in
                chroma.withUnsafeMutableBytes { chroma in
                    converter.convert(
                        picture,
                        to: PixelTarget(
                            base: luma.baseAddress!, stride: 64, size: size, format: .nv12,
                            chroma: (chroma.baseAddress, nil), chromaStrides: (64, 0)))
                }
            }
            #expect(done)
            #expect(luma.allSatisfy { $0 == 200 })
            #expect(chroma[0] == 90 && chroma[1] == 140)
        }
    }

    /// A converter without support for partial conversion.
    private final class WholesOnly: VideoFrameConverter {
        let converter = SoftwareFrameConverter()
        func convert(_ picture: any VideoFrame, to target: PixelTarget) -> Bool {
            converter.convert(picture, to: target)
        }
    }

    /// A region at its own size has the same pixels as in the whole frame, in all kinds of formats.
    @Test(arguments: ["yuv420p", "yuv422p10le", "yuv444p", "nv12", "gbrp", "rgb24", "gray", "pal8"])
    func aPartHasThePixelsThatItHasInTheWhole(format: String) throws {
        let path = try TestClips.make(
            "part.\(format).nut",
            TestClips.arguments("-f lavfi -i testsrc2=s=208x112:r=25:d=0.04 -c:v rawvideo -pix_fmt \(format)"))
        let film = try MediaFile.open(path)
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        let decoder = try VideoDecoder(format: try #require(reader.track.videoFormat))
        try decoder.send(try #require(try reader.read()))
        decoder.finish()
        let picture = try #require(decoder.receive()?.videoFrame)
        let part = PixelRect(x: 48, y: 32, width: 96, height: 64)
        for converter: any VideoFrameConverter in [SoftwareFrameConverter(), WholesOnly()] {
            func pixels(_ size: PixelSize, _ draw: (PixelTarget) -> Bool) -> [UInt8] {
                var pixels = [UInt8](repeating: 0, count: size.width * size.height * 4)
                let isDone = pixels.withUnsafeMutableBytes {
                    draw(PixelTarget(base: $0.baseAddress!, stride: size.width * 4, size: size))
                }
                #expect(isDone)
                return pixels
            }
            let whole = pixels(picture.size) { converter.convert(picture, to: $0) }
            let cut = pixels(part.size) { converter.convert(picture, part: part, to: $0) }
            var worst = 0
            // Excludes the edges, where the chroma scaler uses neighbours.
            for y in 2..<part.height - 2 {
                for byte in 8..<(part.width - 2) * 4 {
                    let (one, other) = (
                        cut[y * part.width * 4 + byte], whole[((part.y + y) * 208 + part.x) * 4 + byte]
                    )
                    worst = max(worst, abs(Int(one) - Int(other)))
                }
            }
            #expect(worst <= 2)
        }
    }

    @Test func aPartThatDoesNotLieInThePictureIsRefused() {
        let picture = FlatPicture(81, 90, 240, size: PixelSize(width: 64, height: 32), color: ColorDescription())
        var pixels = [UInt8](repeating: 0, count: 64 * 32 * 4)
        for part in [
            PixelRect(x: 48, y: 0, width: 32, height: 16), PixelRect(x: 8, y: 0, width: 16, height: 16),
            PixelRect(x: -16, y: 0, width: 16, height: 16), PixelRect(x: 0, y: 0, width: 0, height: 0),
        ] {
            let isDone = pixels.withUnsafeMutableBytes {
                SoftwareFrameConverter().convert(
                    picture, part: part,
                    to: PixelTarget(base: $0.baseAddress!, stride: 64, size: PixelSize(width: 16, height: 16)))
            }
            #expect(!isDone)
        }
    }
}

@Suite struct TransparencyBlenderTests {
    /// Returns the colour of a pixel of the first frame of a file with a transparent half.
    private func pixel(_ name: String, _ more: String, x: Int, y: Int) throws -> [Int] {
        let source = "color=red:s=64x48,format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='if(lt(X,32),0,255)'"
        let path = try TestClips.make(
            name, ["-f", "lavfi", "-i", source, "-frames:v", "1"] + TestClips.arguments(more))
        let file = try #require(try ImageFile.open(path, showingFor: .seconds(1)))
        let track = try #require(file.summary.track(.video))
        let decoder = try FilmVideoDecoder(format: try #require(track.videoFormat))
        let reader = try file.source(for: track)
        while let buffer = try reader.read() { try decoder.send(buffer) }
        decoder.finish()
        let picture = try #require(decoder.receive()?.videoFrame)
        var pixels = [UInt8](repeating: 0, count: 64 * 48 * 4)
        let isDone = pixels.withUnsafeMutableBytes {
            SoftwareFrameConverter().convert(
                picture, to: PixelTarget(base: $0.baseAddress!, stride: 64 * 4, size: PixelSize(width: 64, height: 48)))
        }
        #expect(isDone)
        return (0..<3).map { Int(pixels[(y * 64 + x) * 4 + $0]) }
    }

    @Test(arguments: [("glass.png", ""), ("glass.webp", "-lossless 1"), ("glass.tiff", "")])
    func transparentPicturesAreShownOnTiles(name: String, more: String) throws {
        #expect(try pixel(name, more, x: 4, y: 4) == [0xEE, 0xEE, 0xEE])
        #expect(try pixel(name, more, x: 20, y: 4) == [0xDD, 0xDD, 0xDD])
        let red = try pixel(name, more, x: 50, y: 20)
        #expect(red[2] > 240 && red[0] < 12)
    }
}
