internal import MediaCore

/// Rotates images of 32-bit pixels by multiples of 90°.
enum PixelRotation {
    /// Copies `size` pixels from `source` to `target`, rotated clockwise; the size of `target` is the rotated `size`.
    ///
    /// Works in blocks of 16 by 16 pixels, which stay in the L1 cache.
    static func copy(
        from source: UnsafePointer<UInt32>, stride sourceStride: Int, size: PixelSize, turned rotation: Int,
        to target: UnsafeMutablePointer<UInt32>, stride targetStride: Int
    ) {
        let (width, height) = (size.width, size.height)
        // One source step right and down as target steps, and the target of the source's first pixel.
        let (right, down, origin): (Int, Int, Int) =
            switch rotation {
            case 90: (targetStride, -1, height - 1)
            case 180: (-1, -targetStride, (height - 1) * targetStride + width - 1)
            case 270: (-targetStride, 1, (width - 1) * targetStride)
            default: (1, targetStride, 0)
            }
        let block = 16
        var top = 0
        while top < height {
            let bottom = min(height, top + block)
            var left = 0
            while left < width {
                let end = min(width, left + block)
                for y in top..<bottom {
                    let row = source + y * sourceStride
                    var out = target + origin + y * down + left * right
                    for x in left..<end {
                        out.pointee = row[x]
                        out += right
                    }
                }
                left = end
            }
            top = bottom
        }
    }
}
