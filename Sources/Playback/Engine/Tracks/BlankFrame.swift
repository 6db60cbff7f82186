internal import MediaCore

/// A black video frame, for items without video and for the time before an item's first frame.
///
/// `@unchecked Sendable`: the memory is written once, in `init`.
final class BlankFrame: VideoFrame, @unchecked Sendable {
    let size = PixelSize(width: 64, height: 36)
    let pixelFormat = PixelFormat.yuv420p
    let pixelAspect = Ratio.one
    let rotation = 0
    let color = ColorDescription()
    let bitDepth = 8
    private let pixels: UnsafeMutablePointer<UInt8>

    static let shared = BlankFrame()

    private init() {
        let luma = size.width * size.height
        pixels = .allocate(capacity: luma * 3 / 2)
        // ITU-R BT.601, 2.5.3: black is 16, neutral chroma is 128.
        pixels.initialize(repeating: 16, count: luma)
        (pixels + luma).initialize(repeating: 128, count: luma / 2)
    }

    deinit { pixels.deallocate() }

    func withPlanes<Result>(_ body: (VideoFramePlanes) -> Result) -> Result {
        let (luma, chroma) = (size.width * size.height, size.width * size.height / 4)
        let planes = UnsafePointer(pixels)
        return body(
            VideoFramePlanes(
                bases: (planes, planes + luma, planes + luma + chroma, nil),
                strides: (size.width, size.width / 2, size.width / 2, 0)))
    }

    /// Returns the frame as a buffer that lasts until the next one.
    static func buffer(at time: MediaTime) -> SampleBuffer {
        SampleBuffer(payload: .videoFrame(shared), presentationTime: time, flags: [.sync, .discontinuity])
    }
}
