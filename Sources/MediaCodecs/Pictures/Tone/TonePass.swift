/// Converts planes of 4:2:0 with a `ToneTable` to 8-bit planes.
struct TonePass<Sample: FixedWidthInteger & UnsignedInteger> {
    /// The planes of the source.
    struct Source {
        var luma: UnsafePointer<Sample>
        var blue: UnsafePointer<Sample>
        var red: UnsafePointer<Sample>
        /// Row strides in samples.
        var lumaStride: Int
        var blueStride: Int
        var redStride: Int
        /// The distance between chroma samples, in samples.
        var chromaStep: Int
        /// Shifts that convert a sample to 10 bits: left by `up`, then right by `down`.
        var up: Int
        var down: Int
    }

    struct Target {
        var luma: UnsafeMutablePointer<UInt8>
        var blue: UnsafeMutablePointer<UInt8>
        var red: UnsafeMutablePointer<UInt8>
        var lumaStride: Int
        var blueStride: Int
        var redStride: Int
    }

    /// Maps each pixel by its luma and its shared chroma, and the chroma by the mean of its four lumas.
    ///
    /// Fractions are dithered; otherwise a sky in 10 bits would show banding.
    ///
    /// - Parameter isCoarse: Whether luma is neither interpolated nor dithered, for machines that are too slow.
    static func run(
        _ table: ToneTable, from source: Source, to target: Target, width: Int, height: Int, isCoarse: Bool = false
    ) {
        if isCoarse {
            for row in 0..<(height + 1) / 2 {
                coarsePair(
                    table, from: source, to: target, rows: (2 * row, min(2 * row + 1, height - 1)), chroma: row,
                    width: width)
            }
            return
        }
        withUnsafeTemporaryAllocation(of: Float.self, capacity: 64) { pattern in
            for index in 0..<64 { pattern[index] = Dither.threshold(index & 7, index >> 3) }
            for row in 0..<(height + 1) / 2 {
                let (top, bottom) = (2 * row, min(2 * row + 1, height - 1))
                pair(
                    table, pattern: pattern.baseAddress!, from: source, to: target, rows: (top, bottom), chroma: row,
                    width: width)
            }
        }
    }

    private static func pair(
        _ table: ToneTable, pattern: UnsafePointer<Float>, from source: Source, to target: Target,
        rows: (Int, Int), chroma row: Int, width: Int
    ) {
        let (upper, lower) = (source.luma + rows.0 * source.lumaStride, source.luma + rows.1 * source.lumaStride)
        let (blues, reds) = (source.blue + row * source.blueStride, source.red + row * source.redStride)
        let (above, below) = (target.luma + rows.0 * target.lumaStride, target.luma + rows.1 * target.lumaStride)
        let (blueOut, redOut) = (target.blue + row * target.blueStride, target.red + row * target.redStride)
        let (up, down, step) = (source.up, source.down, source.chromaStep)
        let (first, second) = (pattern + (rows.0 & 7) * 8, pattern + (rows.1 & 7) * 8)
        let thirds = pattern + (row & 7) * 8
        @inline(__always) func number(_ sample: Sample) -> Int { ((Int(sample) &<< up) &>> down) & 1023 }
        @inline(__always) func byte(_ value: Float) -> UInt8 { UInt8(truncatingIfNeeded: Int32(value)) }
        for column in 0..<(width + 1) / 2 {
            let (left, right) = (2 * column, min(2 * column + 1, width - 1))
            let neighbours = table.neighbours(blue: number(blues[column * step]), red: number(reds[column * step]))
            let (a, b, c, d) = (
                number(upper[left]), number(upper[right]), number(lower[left]), number(lower[right])
            )
            let here = left & 7
            let there = right & 7
            above[left] = byte(table.luma(a, at: neighbours) + first[here])
            above[right] = byte(table.luma(b, at: neighbours) + first[there])
            below[left] = byte(table.luma(c, at: neighbours) + second[here])
            below[right] = byte(table.luma(d, at: neighbours) + second[there])
            let shared = table.chroma((a + b + c + d + 2) >> 2, at: neighbours)
            let threshold = thirds[column & 7]
            blueOut[column] = byte(shared.blue + threshold)
            redOut[column] = byte(shared.red + (1 - threshold))
        }
    }

    private static func coarsePair(
        _ table: ToneTable, from source: Source, to target: Target, rows: (Int, Int), chroma row: Int, width: Int
    ) {
        let (upper, lower) = (source.luma + rows.0 * source.lumaStride, source.luma + rows.1 * source.lumaStride)
        let (blues, reds) = (source.blue + row * source.blueStride, source.red + row * source.redStride)
        let (above, below) = (target.luma + rows.0 * target.lumaStride, target.luma + rows.1 * target.lumaStride)
        let (blueOut, redOut) = (target.blue + row * target.blueStride, target.red + row * target.redStride)
        let (up, down, step) = (source.up, source.down, source.chromaStep)
        @inline(__always) func number(_ sample: Sample) -> Int { ((Int(sample) &<< up) &>> down) & 1023 }
        @inline(__always) func byte(_ value: Float) -> UInt8 { UInt8(truncatingIfNeeded: Int32(value)) }
        for column in 0..<(width + 1) / 2 {
            let (left, right) = (2 * column, min(2 * column + 1, width - 1))
            let (blue, red) = (number(blues[column * step]), number(reds[column * step]))
            let (neighbours, node) = (table.neighbours(blue: blue, red: red), table.node(blue: blue, red: red))
            let (a, b, c, d) = (
                number(upper[left]), number(upper[right]), number(lower[left]), number(lower[right])
            )
            above[left] = table.coarseLuma(a, at: node)
            above[right] = table.coarseLuma(b, at: node)
            below[left] = table.coarseLuma(c, at: node)
            below[right] = table.coarseLuma(d, at: node)
            let shared = table.chroma((a + b + c + d + 2) >> 2, at: neighbours)
            blueOut[column] = byte(shared.blue + 0.5)
            redOut[column] = byte(shared.red + 0.5)
        }
    }
}

/// Ordered dither.
enum Dither {
    /// Returns a threshold between 0 and 1 of an 8 by 8 pattern.
    ///
    /// B. Bayer, "An optimum method for two-level rendition of continuous-tone pictures", 1973.
    static func threshold(_ x: Int, _ y: Int) -> Float {
        var order = 0
        for bit in 0..<3 {
            let (across, along) = ((x >> bit) & 1, ((x ^ y) >> bit) & 1)
            order = order << 2 | along << 1 | across
        }
        return (Float(order) + 0.5) / 64
    }
}
