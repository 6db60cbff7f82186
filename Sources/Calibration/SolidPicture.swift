internal import MediaCore

/// A picture of one grey, in whatever shape fills a screen.
///
/// `@unchecked Sendable`: the pixels are written before it is handed out and only read afterwards.
final class SolidPicture: Picture, @unchecked Sendable {
    let size = PixelSize(width: 64, height: 64)
    let pixelFormat = PixelFormat.bgra
    let pixelAspect: Ratio
    let rotation = 0
    let color = ColorDescription(isFullRange: true)
    let bitDepth = 8
    private let pixels: UnsafeMutablePointer<UInt8>

    /// - Parameter shape: the area to fill; without one the picture is square.
    init(grey: UInt8, filling shape: PixelSize?) {
        pixelAspect = shape.map { Ratio($0.width, $0.height) } ?? .one
        let count = size.width * size.height * 4
        pixels = .allocate(capacity: count)
        pixels.initialize(repeating: grey, count: count)
    }

    deinit { pixels.deallocate() }

    func withPlanes<Result>(_ body: (PicturePlanes) -> Result) -> Result {
        body(PicturePlanes(bases: (UnsafePointer(pixels), nil, nil, nil), strides: (size.width * 4, 0, 0, 0)))
    }
}
