internal import CFFmpeg
internal import MediaCore

/// Converts paletted rectangles of libavcodec to images.
enum SubtitleBitmaps {
    static let maxRects = 32
    /// Maximum number of pixels of all rectangles together.
    static let largestArea = 4096 * 4096

    /// Returns the images, or nil if a limit is exceeded.
    static func images(of subtitle: AVSubtitle) -> [OverlayImage]? {
        guard subtitle.num_rects <= maxRects else { return nil }
        var images: [OverlayImage] = []
        var area = 0
        for index in 0..<Int(subtitle.num_rects) {
            guard let rect = subtitle.rects?[index]?.pointee, rect.type == SUBTITLE_BITMAP, rect.w > 0, rect.h > 0,
                let indices = rect.data.0, let palette = rect.data.1, rect.linesize.0 >= rect.w
            else { continue }
            let (width, height) = (Int(rect.w), Int(rect.h))
            guard width <= largestArea, height <= largestArea else { return nil }
            area += width * height
            guard area <= largestArea else { return nil }
            let pixels = [UInt8](unsafeUninitializedCapacity: width * height * 4) { pixels, count in
                count = width * height * 4
                // 256 entries of 0xAARRGGBB in native byte order (AVPALETTE_SIZE, libavutil/pixfmt.h).
                palette.withMemoryRebound(to: UInt32.self, capacity: 256) { palette in
                    for y in 0..<height {
                        let rowStart = indices + y * Int(rect.linesize.0)
                        for x in 0..<width {
                            let colour = palette[Int(rowStart[x])]
                            let offset = (y * width + x) * 4
                            pixels[offset] = UInt8(truncatingIfNeeded: colour)
                            pixels[offset + 1] = UInt8(truncatingIfNeeded: colour >> 8)
                            pixels[offset + 2] = UInt8(truncatingIfNeeded: colour >> 16)
                            pixels[offset + 3] = UInt8(truncatingIfNeeded: colour >> 24)
                        }
                    }
                }
            }
            images.append(
                OverlayImage(
                    rect: PixelRect(x: Int(rect.x), y: Int(rect.y), width: width, height: height), pixels: pixels))
        }
        return images
    }

    /// Returns the plane of the rectangles if neither stream nor container states it: the smallest usual one that fits.
    static func canvas(for images: [OverlayImage]) -> PixelSize {
        // A DVB display set without its own definition is for 720 × 576 (EN 300 743, 7.2.1).
        let usual = [PixelSize(width: 720, height: 576), PixelSize(width: 1920, height: 1080)]
        let right = images.map { $0.rect.x + $0.rect.width }.max() ?? 0
        let bottom = images.map { $0.rect.y + $0.rect.height }.max() ?? 0
        return usual.first { $0.width >= right && $0.height >= bottom } ?? PixelSize(width: right, height: bottom)
    }
}
