internal import CFFmpeg
package import MediaCore
internal import SyncRendering

/// Encodes a video frame as a small JPEG (ITU-T T.81, JFIF) with libavcodec.
package enum JPEGEncoder {
    /// The quantizer: about 60 kB for 600 × 338 pixels.
    private static let quantizer: Int32 = 4

    /// Returns the contents of a JPEG file of the frame as displayed: with square pixels, rotated.
    ///
    /// - Parameter maxSide: Maximum number of pixels of a side; smaller frames keep their size.
    /// - Throws: `unsupported` if the frame cannot be converted or there is no encoder, `exhausted` without memory.
    package static func encode(_ videoFrame: any VideoFrame, maxSide: Int) throws(MediaError) -> [UInt8] {
        let image = try Image(videoFrame, maxSide: max(16, min(maxSide, 4096)))
        return try ImageEncoder.encode(
            AV_CODEC_ID_MJPEG, "JPEG", size: image.size, format: AV_PIX_FMT_YUVJ420P,
            configure: { context, frame in
                (context.pointee.color_range, frame.pointee.color_range) = (AVCOL_RANGE_JPEG, AVCOL_RANGE_JPEG)
                (context.pointee.qmin, context.pointee.qmax) = (quantizer, quantizer)
            }, draw: image.write)
    }

    /// A scaled frame in R'G'B', with its rotation.
    private struct Image {
        /// The size of the rotated image; both sides are even.
        let size: PixelSize
        /// B, G, R, A per pixel, not rotated.
        private var pixels: [UInt8]
        private let width: Int
        private let height: Int
        private let rotation: Int

        init(_ videoFrame: any VideoFrame, maxSide: Int) throws(MediaError) {
            let aspect = videoFrame.pixelAspect.value
            let shown = (Double(videoFrame.size.width) * aspect, Double(videoFrame.size.height))
            let scale = min(1, Double(maxSide) / max(shown.0, shown.1, 1))
            func side(_ length: Double) -> Int {
                Int(clamping: length * scale, in: 2...maxSide) / 2 * 2
            }
            (width, height, rotation) = (side(shown.0), side(shown.1), videoFrame.rotation)
            pixels = [UInt8](repeating: 0, count: width * height * 4)
            let target = PixelSize(width: width, height: height)
            size = rotation % 180 == 0 ? target : PixelSize(width: height, height: width)
            let stride = width * 4
            let isConverted = pixels.withUnsafeMutableBytes { bytes in
                SoftwareFrameConverter().convert(
                    videoFrame, to: PixelTarget(base: bytes.baseAddress!, stride: stride, size: target))
            }
            guard isConverted else { throw MediaError(.unsupported, "this frame has a format that cannot be written") }
        }

        /// Returns the place of a pixel of the rotated image in `pixels`.
        private func offset(_ x: Int, _ y: Int) -> Int {
            switch rotation {
            case 90: ((height - 1 - x) * width + y) * 4
            case 180: ((height - 1 - y) * width + width - 1 - x) * 4
            case 270: (x * width + width - 1 - y) * 4
            default: (y * width + x) * 4
            }
        }

        /// Writes the image as full-range Y'CbCr of BT.601, as JFIF requires; chroma is the mean of four pixels.
        func write(to frame: UnsafeMutablePointer<AVFrame>) {
            let (planes, strides) = (frame.pointee.data, frame.pointee.linesize)
            guard let luma = planes.0, let blue = planes.1, let red = planes.2 else { return }
            func byte(_ value: Double) -> UInt8 { UInt8(clamping: value, in: 0...255) }
            for y in stride(from: 0, to: size.height, by: 2) {
                for x in stride(from: 0, to: size.width, by: 2) {
                    var sum = (b: 0.0, g: 0.0, r: 0.0)
                    for (column, row) in [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)] {
                        let index = offset(column, row)
                        let (b, g, r) = (Double(pixels[index]), Double(pixels[index + 1]), Double(pixels[index + 2]))
                        luma[row * Int(strides.0) + column] = byte(0.299 * r + 0.587 * g + 0.114 * b)
                        sum = (sum.b + b / 4, sum.g + g / 4, sum.r + r / 4)
                    }
                    blue[y / 2 * Int(strides.1) + x / 2] = byte(128 - 0.168736 * sum.r - 0.331264 * sum.g + 0.5 * sum.b)
                    red[y / 2 * Int(strides.2) + x / 2] = byte(128 + 0.5 * sum.r - 0.418688 * sum.g - 0.081312 * sum.b)
                }
            }
        }
    }
}
