import MediaCore

/// A frame of four quarters of known colour: red and green above, blue and grey below.
final class SyntheticPicture: VideoFrame {
    let size: PixelSize
    let pixelFormat: PixelFormat
    let pixelAspect: Ratio
    let rotation: Int
    let color: ColorDescription
    let bitDepth = 8
    private let bytes: [UInt8]
    private let chromaWidth: Int
    private let chromaHeight: Int

    static let quarters: [(Double, Double, Double)] = [(200, 30, 40), (40, 180, 60), (50, 60, 190), (128, 128, 128)]

    init(
        size: PixelSize, format: PixelFormat = .yuv420p, pixelAspect: Ratio = .one, rotation: Int = 0,
        color: ColorDescription = ColorDescription(), shade: Int = 0
    ) {
        self.size = size
        self.pixelFormat = format
        self.pixelAspect = pixelAspect
        self.rotation = rotation
        self.color = color
        chromaWidth = (size.width + 1) / 2
        chromaHeight = (size.height + 1) / 2
        let matrix = color.matrix(for: size)
        let codes = Self.quarters.map { Self.encode($0, matrix, isFullRange: color.isFullRange) }
        var luma = [UInt8](repeating: 0, count: size.width * size.height)
        for y in 0..<size.height {
            for x in 0..<size.width {
                let quarter = (y < size.height / 2 ? 0 : 2) + (x < size.width / 2 ? 0 : 1)
                luma[y * size.width + x] = codes[quarter].0 &+ UInt8(shade % 8)
            }
        }
        var blue = [UInt8](repeating: 0, count: chromaWidth * chromaHeight)
        var red = blue
        for y in 0..<chromaHeight {
            for x in 0..<chromaWidth {
                let quarter = (y < chromaHeight / 2 ? 0 : 2) + (x < chromaWidth / 2 ? 0 : 1)
                blue[y * chromaWidth + x] = codes[quarter].1
                red[y * chromaWidth + x] = codes[quarter].2
            }
        }
        switch format {
        case .nv12: bytes = luma + zip(blue, red).flatMap { [$0, $1] }
        default: bytes = luma + blue + red
        }
    }

    /// Encodes RGB as YCbCr, 8 bit: ITU-R BT.601-7 section 2.5, BT.709-6 section 3, BT.2020-2 table 4 (non-constant
    /// luminance).
    private static func encode(
        _ rgb: (Double, Double, Double), _ matrix: YCbCrMatrix, isFullRange: Bool
    ) -> (UInt8, UInt8, UInt8) {
        let (kr, kb): (Double, Double) =
            switch matrix {
            case .bt601: (0.299, 0.114)
            case .bt709: (0.2126, 0.0722)
            case .bt2020: (0.2627, 0.0593)
            }
        let (r, g, b) = (rgb.0 / 255, rgb.1 / 255, rgb.2 / 255)
        let y = kr * r + (1 - kr - kb) * g + kb * b
        let cb = (b - y) / (2 * (1 - kb))
        let cr = (r - y) / (2 * (1 - kr))
        if isFullRange {
            return (
                UInt8((255 * y).rounded()), UInt8((255 * cb + 128).rounded()), UInt8((255 * cr + 128).rounded())
            )
        }
        return (
            UInt8((219 * y + 16).rounded()), UInt8((224 * cb + 128).rounded()), UInt8((224 * cr + 128).rounded())
        )
    }

    func withPlanes<Result>(_ body: (VideoFramePlanes) -> Result) -> Result {
        bytes.withUnsafeBufferPointer { buffer in
            let base = buffer.baseAddress!
            let first = base + size.width * size.height
            if pixelFormat == .nv12 {
                return body(
                    VideoFramePlanes(bases: (base, first, nil, nil), strides: (size.width, chromaWidth * 2, 0, 0)))
            }
            return body(
                VideoFramePlanes(
                    bases: (base, first, first + chromaWidth * chromaHeight, nil),
                    strides: (size.width, chromaWidth, chromaWidth, 0)))
        }
    }
}
