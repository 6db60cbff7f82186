internal import MediaCore

/// A `ToneMapping` as a table over luma and both colour differences, between whose nodes there is a line.
///
/// One corner of the grid is one load: the four neighbours in colour lie side by side, and the next luma behind them.
final class ToneTable {
    /// Numbers of 10 bits between two nodes, as powers of two. Black, grey and the colourless lie on nodes.
    static let lumaShift = 4
    static let chromaShift = 4
    private static let lumaNodes = (1024 >> lumaShift) + 1
    private static let cells = 1024 >> chromaShift

    let mapping: ToneMapping
    private let luma: UnsafeMutablePointer<SIMD4<Float>>
    /// Blue differences of the four neighbours, then red ones.
    private let chroma: UnsafeMutablePointer<SIMD8<Float>>

    init(_ mapping: ToneMapping) {
        self.mapping = mapping
        let count = Self.cells * Self.cells * Self.lumaNodes
        luma = .allocate(capacity: count)
        chroma = .allocate(capacity: count)
        fill()
    }

    deinit {
        luma.deallocate()
        chroma.deallocate()
    }

    private func fill() {
        let (cells, nodes) = (Self.cells, Self.lumaNodes)
        // Two columns of nodes at a time: those of this blue difference and of the next.
        func column(_ blue: Int) -> [SIMD3<Float>] {
            var column: [SIMD3<Float>] = []
            column.reserveCapacity((cells + 1) * nodes)
            for red in 0...cells {
                for step in 0..<nodes {
                    let found = mapping.map(
                        luma: Double(step << Self.lumaShift), blue: Double(blue << Self.chromaShift),
                        red: Double(red << Self.chromaShift))
                    column.append(SIMD3(Float(found.luma), Float(found.blue), Float(found.red)))
                }
            }
            return column
        }
        var near = column(0)
        var index = 0
        for blue in 0..<cells {
            let far = column(blue + 1)
            for red in 0..<cells {
                for step in 0..<nodes {
                    let (here, beside) = (red * nodes + step, (red + 1) * nodes + step)
                    let corners = (near[here], near[beside], far[here], far[beside])
                    (luma + index).initialize(
                        to: SIMD4(corners.0.x, corners.1.x, corners.2.x, corners.3.x))
                    (chroma + index).initialize(
                        to: SIMD8(
                            corners.0.y, corners.1.y, corners.2.y, corners.3.y, corners.0.z, corners.1.z,
                            corners.2.z, corners.3.z))
                    index += 1
                }
            }
            near = far
        }
    }

    // MARK: Looking up

    /// The neighbours of a pair of colour differences, and how much each counts.
    struct Place {
        fileprivate let base: Int
        fileprivate let weights: SIMD4<Float>
    }

    /// - Parameters: numbers of 10 bits.
    @inline(__always) func place(blue: Int, red: Int) -> Place {
        let (shift, mask) = (Self.chromaShift, (1 << Self.chromaShift) - 1)
        let scale = 1 / Float(1 << Self.chromaShift)
        let u = Float(blue & mask) * scale
        let v = Float(red & mask) * scale
        let cell = (blue &>> shift) &* Self.cells &+ (red &>> shift)
        return Place(
            base: cell &* Self.lumaNodes,
            weights: SIMD4((1 - u) * (1 - v), (1 - u) * v, u * (1 - v), u * v))
    }

    /// Luma of 8 bits in limited range, not rounded.
    @inline(__always) func luma(_ value: Int, at place: Place) -> Float {
        let (node, part) = Self.step(value)
        let near = luma[place.base &+ node]
        return ((near + (luma[place.base &+ node &+ 1] - near) * part) * place.weights).sum()
    }

    /// Colour differences of 8 bits, not rounded.
    @inline(__always) func chroma(_ value: Int, at place: Place) -> (blue: Float, red: Float) {
        let (node, part) = Self.step(value)
        let near = chroma[place.base &+ node]
        let both = near + (chroma[place.base &+ node &+ 1] - near) * part
        return ((both.lowHalf * place.weights).sum(), (both.highHalf * place.weights).sum())
    }

    @inline(__always) private static func step(_ value: Int) -> (node: Int, part: Float) {
        (value &>> lumaShift, Float(value & ((1 << lumaShift) - 1)) * (1 / Float(1 << lumaShift)))
    }
}
