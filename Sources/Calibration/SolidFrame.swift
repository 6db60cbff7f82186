internal import MediaCore

/// A uniform grey frame that fills a screen.
///
/// `@unchecked Sendable`: the pixels are written in `init` and only read afterwards.
final class SolidFrame: VideoFrame, @unchecked Sendable {
    let size = PixelSize(width: 64, height: 64)
    let pixelFormat = PixelFormat.bgra
    let pixelAspect: Ratio
    let rotation = 0
    let color = ColorDescription(isFullRange: true)
    let bitDepth = 8
    private let pixels: UnsafeMutablePointer<UInt8>

    /// - Parameter shape: The area to fill; nil: a square.
    init(grey: UInt8, filling shape: PixelSize?) {
        pixelAspect = shape.map { Ratio($0.width, $0.height) } ?? .one
        let count = size.width * size.height * 4
        pixels = .allocate(capacity: count)
        pixels.initialize(repeating: grey, count: count)
    }

    deinit { pixels.deallocate() }

    func withPlanes<Result>(_ body: (VideoFramePlanes) -> Result) -> Result {
        body(VideoFramePlanes(bases: (UnsafePointer(pixels), nil, nil, nil), strides: (size.width * 4, 0, 0, 0)))
    }
}
