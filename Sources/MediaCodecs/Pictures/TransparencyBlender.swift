internal import CFFmpeg
internal import MediaCore

/// Blends transparent images with light tiles, as mpv does (`--alpha=blend-tiles`). Owned and called by one thread.
///
/// There is no background to show, and black drawings would be invisible on black.
final class TransparencyBlender {
    private var pool = RecyclingPool<DecodedFrame> { DecodedFrame() }
    private let scaler = ScalerPass(threads: 1)

    /// The side of a tile in pixels, and its two greys.
    private static let tile = 16
    private static let light: (Int, Int) = (0xEE, 0xDD)

    /// Returns whether a frame is displayed as transparent. Image codecs only: alpha in films is for production.
    static func isTransparent(_ frame: DecodedFrame, of format: VideoFormat) -> Bool {
        guard ["png", "apng", "gif", "webp", "tiff", "bmp"].contains(format.parameters.codec),
            let descriptor = av_pix_fmt_desc_get(frame.libavFormat)
        else { return false }
        return descriptor.pointee.flags & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0 || frame.libavFormat == AV_PIX_FMT_PAL8
    }

    /// Returns the blended frame, or nil on failure.
    func flatten(_ frame: DecodedFrame, of format: VideoFormat) -> DecodedFrame? {
        let target = pool.acquire()
        let matrix = frame.color.matrix(for: frame.size)
        guard scaler.convert(frame, into: target, as: AV_PIX_FMT_BGRA, matrix: matrix) else { return nil }
        let to = target.frame.pointee
        guard let base = to.data.0 else { return nil }
        for row in 0..<frame.size.height {
            let rowStart = base + row * Int(to.linesize.0)
            for column in 0..<frame.size.width {
                let pixel = rowStart + column * 4
                let alpha = Int(pixel[3])
                if alpha == 255 { continue }
                let isDark = (row / Self.tile + column / Self.tile) & 1 != 0
                let under = isDark ? Self.light.1 : Self.light.0
                for channel in 0..<3 {
                    pixel[channel] = UInt8((Int(pixel[channel]) * alpha + under * (255 - alpha)) / 255)
                }
                pixel[3] = 255
            }
        }
        target.describe(format)
        return target
    }
}
