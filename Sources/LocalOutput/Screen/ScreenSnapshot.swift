public import MediaCore
internal import SyncRendering

/// A picture as people see it: turned, in square pixels, in full-range R'G'B'.
public struct ScreenSnapshot: Sendable {
    public var size: PixelSize
    /// B, G, R, A per pixel, rows without gaps.
    public var pixels: [UInt8]

    /// Draws a picture anew; nil when the converter cannot.
    init?(of picture: any Picture, by converter: any PictureConverter) {
        let size = PicturePlacement.displaySize(
            of: picture.size, pixelAspect: picture.pixelAspect, rotation: picture.rotation)
        let placement = PicturePlacement(
            size: picture.size, pixelAspect: picture.pixelAspect, rotation: picture.rotation, in: size)
        let upright = placement.unrotatedSize
        guard size.width * size.height <= Self.largest else { return nil }
        var straight = [UInt8](repeating: 0, count: upright.width * upright.height * 4)
        let isDone = straight.withUnsafeMutableBytes {
            converter.convert(
                picture, to: PixelTarget(base: $0.baseAddress!, stride: upright.width * 4, size: upright))
        }
        guard isDone else { return nil }
        self.size = size
        guard placement.rotation != 0 else {
            pixels = straight
            return
        }
        pixels = [UInt8](repeating: 0, count: straight.count)
        pixels.withUnsafeMutableBytes { target in
            straight.withUnsafeBytes { source in
                PixelRotation.copy(
                    from: source.baseAddress!.assumingMemoryBound(to: UInt32.self), stride: upright.width,
                    size: upright, turned: placement.rotation,
                    to: target.baseAddress!.assumingMemoryBound(to: UInt32.self), stride: size.width)
            }
        }
    }

    /// Pixels; more than 8K by 8K is no picture that a screen has shown.
    private static let largest = 8192 * 8192
}
