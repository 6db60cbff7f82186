import MediaCodecs
import MediaCore
import Testing

@Suite struct JPEGEncoderTests {
    /// A frame whose left half is red and whose right half is blue, B, G, R, A.
    private final class TwoColours: VideoFrame {
        let size: PixelSize
        let pixelFormat = PixelFormat.bgra
        let pixelAspect: Ratio
        let rotation: Int
        let color = ColorDescription()
        let bitDepth = 8
        private let pixels: [UInt8]

        init(_ size: PixelSize, aspect: Ratio = .one, rotation: Int = 0) {
            (self.size, pixelAspect, self.rotation) = (size, aspect, rotation)
            let row = (0..<size.width).flatMap {
                $0 < size.width / 2 ? [0, 0, 255, 255] : [255, 0, 0, 255] as [UInt8]
            }
            pixels = (0..<size.height).flatMap { _ in row }
        }

        func withPlanes<Result>(_ body: (VideoFramePlanes) -> Result) -> Result {
            pixels.withUnsafeBufferPointer {
                body(VideoFramePlanes(bases: ($0.baseAddress, nil, nil, nil), strides: (size.width * 4, 0, 0, 0)))
            }
        }
    }

    /// Decodes a file; returns its size, and Cr and Cb of a place, 0…1 of each side.
    private func decode(_ bytes: [UInt8], _ x: Double, _ y: Double) throws -> (size: PixelSize, red: Int, blue: Int) {
        // libavcodec takes a frame that is much lower than declared for one field of two (mjpegdec.c).
        let format = VideoFormat(parameters: CodecParameters(codec: "mjpeg"), size: PixelSize(width: 2, height: 2))
        let decoder = try FilmVideoDecoder(format: format)
        let batch = PacketBatch()
        bytes.withUnsafeBytes { batch.append($0, as: .init(presentationTime: .zero, duration: .zero)) }
        try decoder.send(SampleBuffer(payload: .encodedVideo(format, batch), presentationTime: .zero, duration: .zero))
        decoder.finish()
        let payload = try #require(decoder.receive()?.payload)
        guard case .videoFrame(let picture) = payload else {
            Issue.record("no picture")
            return (PixelSize(width: 0, height: 0), 0, 0)
        }
        let (column, row) = (Int(Double(picture.size.width / 2) * x), Int(Double(picture.size.height / 2) * y))
        return picture.withPlanes { planes in
            let (blue, red) = (planes.bases.1!, planes.bases.2!)
            return (
                picture.size, Int(red[row * planes.strides.2 + column]), Int(blue[row * planes.strides.1 + column])
            )
        }
    }

    @Test func aLargeFrameIsScaledAndKeepsItsColours() throws {
        let bytes = try JPEGEncoder.encode(TwoColours(PixelSize(width: 1920, height: 1080)), maxSide: 600)
        #expect(bytes.starts(with: [0xFF, 0xD8, 0xFF]) && bytes.suffix(2) == [0xFF, 0xD9] && bytes.count < 60_000)
        let left = try decode(bytes, 0.1, 0.5)
        #expect(left.size == PixelSize(width: 600, height: 338) || left.size == PixelSize(width: 600, height: 336))
        // Red is Cr 255 and Cb 85, blue Cr 107 and Cb 255.
        #expect(left.red > 230 && abs(left.blue - 85) < 20, "\(left)")
        let right = try decode(bytes, 0.9, 0.5)
        #expect(right.blue > 230 && abs(right.red - 107) < 20, "\(right)")
    }

    @Test func pixelsAreSquareAndTheFrameIsRotated() throws {
        let wide = TwoColours(PixelSize(width: 64, height: 64), aspect: Ratio(2, 1))
        #expect(try decode(JPEGEncoder.encode(wide, maxSide: 600), 0.5, 0.5).size == PixelSize(width: 128, height: 64))
        // Clockwise: the left side becomes the top.
        let turned = try JPEGEncoder.encode(TwoColours(PixelSize(width: 64, height: 32), rotation: 90), maxSide: 600)
        let top = try decode(turned, 0.5, 0.1)
        #expect(top.size == PixelSize(width: 32, height: 64) && top.red > 230)
        let upset = try JPEGEncoder.encode(TwoColours(PixelSize(width: 64, height: 32), rotation: 270), maxSide: 600)
        #expect(try decode(upset, 0.5, 0.1).blue > 230)
        let over = try JPEGEncoder.encode(TwoColours(PixelSize(width: 64, height: 32), rotation: 180), maxSide: 600)
        #expect(try decode(over, 0.1, 0.5).blue > 230)
    }

    @Test func extremeSizesAreBounded() throws {
        let line = TwoColours(PixelSize(width: 4, height: 2), aspect: Ratio(1_000_000, 1))
        #expect(try decode(JPEGEncoder.encode(line, maxSide: 600), 0.1, 0.1).size == PixelSize(width: 600, height: 2))
    }
}
