internal import CFFmpeg
package import MediaCore

/// Encodes an image as PNG (ISO/IEC 15948) with libavcodec.
package enum PNGEncoder {
    /// Returns the contents of a PNG file.
    ///
    /// - Parameters:
    ///   - pixels: B, G, R, A per pixel, full range, rows without gaps. Alpha is dropped.
    ///   - size: No side exceeds 16384.
    /// - Throws: `unsupported` without an encoder, `limitExceeded` if size and pixels
    ///   disagree, `exhausted` without memory.
    package static func encode(bgra pixels: [UInt8], size: PixelSize) throws(MediaError) -> [UInt8] {
        guard (1...16384).contains(size.width), (1...16384).contains(size.height),
            pixels.count == size.width * size.height * 4
        else { throw MediaError(.limitExceeded, "this image cannot be written because its size is out of range") }
        return try ImageEncoder.encode(AV_CODEC_ID_PNG, "PNG", size: size, format: AV_PIX_FMT_RGB24) { frame in
            for row in 0..<size.height {
                let target = frame.pointee.data.0! + row * Int(frame.pointee.linesize.0)
                var source = row * size.width * 4
                for column in 0..<size.width {
                    target[column * 3] = pixels[source + 2]
                    target[column * 3 + 1] = pixels[source + 1]
                    target[column * 3 + 2] = pixels[source]
                    source += 4
                }
            }
        }
    }
}
