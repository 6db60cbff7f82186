internal import CSDL

/// The window icon, for window managers that ignore the desktop entry: a simplified Tools/package/talkie.svg.
enum WindowIcon {
    static let side = 64
    /// Samples per pixel and direction, for antialiasing.
    private static let samples = 4

    static func set(on window: OpaquePointer) {
        var pixels = pixels
        pixels.withUnsafeMutableBytes { bytes in
            // A8B8G8R8 is R, G, B, A in memory on little-endian machines.
            let surface = SDL_CreateRGBSurfaceWithFormatFrom(
                bytes.baseAddress, Int32(side), Int32(side), 32, Int32(side * 4),
                UInt32(SDL_PIXELFORMAT_ABGR8888.rawValue))
            // SDL copies the surface.
            SDL_SetWindowIcon(window, surface)
            SDL_FreeSurface(surface)
        }
    }

    /// R, G, B, A per pixel; rows without padding.
    static var pixels: [UInt8] {
        var pixels: [UInt8] = []
        pixels.reserveCapacity(side * side * 4)
        for y in 0..<side {
            for x in 0..<side {
                var (sum, count) = ((0, 0, 0), 0)
                for sample in 0..<samples * samples {
                    let point = (
                        (Double(x) + (Double(sample % samples) + 0.5) / Double(samples)) * 128 / Double(side),
                        (Double(y) + (Double(sample / samples) + 0.5) / Double(samples)) * 128 / Double(side)
                    )
                    guard let colour = colour(point.0, point.1) else { continue }
                    sum = (sum.0 + colour.0, sum.1 + colour.1, sum.2 + colour.2)
                    count += 1
                }
                pixels += [sum.0, sum.1, sum.2].map { UInt8($0 / max(1, count)) }
                pixels.append(UInt8(count * 255 / (samples * samples)))
            }
        }
        return pixels
    }

    /// Returns the colour at a point of the 128 by 128 drawing; nil outside of it.
    private static func colour(_ x: Double, _ y: Double) -> (Int, Int, Int)? {
        func isInside(left: Double, top: Double, right: Double, bottom: Double, corner: Double) -> Bool {
            let (dx, dy) = (
                max(left + corner - x, x - right + corner, 0), max(top + corner - y, y - bottom + corner, 0)
            )
            return dx * dx + dy * dy <= corner * corner
        }
        let tail = y >= 90 && y <= 120 && x >= 30 && x <= 60 - (y - 96) * 26 / 24
        guard isInside(left: 6, top: 10, right: 122, bottom: 96, corner: 18) || tail else { return nil }
        if isInside(left: 14, top: 31, right: 114, bottom: 75, corner: 5) {
            // The triangle of a play button, and two sound waves.
            if x >= 40, x <= 68, abs(y - 53) <= (68 - x) * 15 / 28 { return (255, 179, 64) }
            let radius = ((x - 62) * (x - 62) + (y - 53) * (y - 53)).squareRoot()
            let isWave = abs(radius - 17) <= 2.5 || abs(radius - 28) <= 2.5
            if x > 70, abs(y - 53) <= (x - 62) * 0.75, isWave { return (244, 234, 210) }
            return (13, 34, 51)
        }
        for hole in 0..<5 {
            let left = 22 + Double(hole) * 18.25
            if isInside(left: left, top: 17, right: left + 11, bottom: 25, corner: 2)
                || isInside(left: left, top: 81, right: left + 11, bottom: 89, corner: 2)
            {
                return (244, 234, 210)
            }
        }
        let down = (y - 10) / 110
        func mix(_ from: Double, _ to: Double) -> Int { Int(from + (to - from) * down) }
        return (mix(47, 22), mix(111, 58), mix(143, 84))
    }
}
