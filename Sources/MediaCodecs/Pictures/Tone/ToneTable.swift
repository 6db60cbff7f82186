internal import MediaCore

/// A `ToneMapping` sampled over luma and both chroma components, with linear interpolation.
///
/// A grid corner is one load: four chroma neighbours are adjacent, followed by the next luma. Immutable after `init`.
final class ToneTable: @unchecked Sendable {
    /// Distance of two nodes in 10-bit values, as a power of two. Black, grey and neutral chroma are nodes.
    static let lumaShift = 4
    static let chromaShift = 4
    private static let lumaNodes = (1024 >> lumaShift) + 1
    private static let cells = 1024 >> chromaShift

    let mapping: ToneMapping
    private let luma: UnsafeMutablePointer<SIMD4<Float>>
    /// Blue differences of the four neighbours, then red ones.
    private let chroma: UnsafeMutablePointer<SIMD8<Float>>
    /// Rounded luma for each value of 8 bits at each node of chroma, of which grey is one: 1 MB.
    private let coarse: UnsafeMutablePointer<UInt8>

    private struct Entry: Sendable { weak var table: ToneTable? }
    private static let inUse = Lock<[Entry]>([])

    /// Returns a table of a mapping: one that a decoder uses, because a new one has to be filled.
    static func table(of mapping: ToneMapping) -> ToneTable {
        if let table = inUse.withLock({ $0.first { $0.table?.mapping == mapping }?.table }) { return table }
        let table = ToneTable(mapping)
        inUse.withLock { $0 = $0.filter { $0.table != nil } + [Entry(table: table)] }
        return table
    }

    private init(_ mapping: ToneMapping) {
        self.mapping = mapping
        let count = Self.cells * Self.cells * Self.lumaNodes
        luma = .allocate(capacity: count)
        chroma = .allocate(capacity: count)
        coarse = .allocate(capacity: (Self.cells + 1) * (Self.cells + 1) * 256)
        fill()
        fillCoarse()
    }

    deinit {
        luma.deallocate()
        chroma.deallocate()
        coarse.deallocate()
    }

    private func fill() {
        let (cells, nodes) = (Self.cells, Self.lumaNodes)
        // Two columns of nodes at a time: this blue difference and the next.
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

    private func fillCoarse() {
        for blue in 0...Self.cells {
            for red in 0...Self.cells {
                let neighbours = neighbours(
                    blue: min(blue << Self.chromaShift, 1023), red: min(red << Self.chromaShift, 1023))
                let node = coarse + (blue * (Self.cells + 1) + red) * 256
                for value in 0..<256 {
                    let luma = luma(value << 2, at: neighbours)
                    (node + value).initialize(to: UInt8(clamping: Double(luma + 0.5), in: 0...255))
                }
            }
        }
    }

    // MARK: Lookup

    /// The chroma neighbours of a colour and their weights.
    struct Neighbours {
        fileprivate let base: Int
        fileprivate let weights: SIMD4<Float>
    }

    /// Returns the neighbours of 10-bit chroma values.
    @inline(__always) func neighbours(blue: Int, red: Int) -> Neighbours {
        let (shift, mask) = (Self.chromaShift, (1 << Self.chromaShift) - 1)
        let scale = 1 / Float(1 << Self.chromaShift)
        let u = Float(blue & mask) * scale
        let v = Float(red & mask) * scale
        let cell = (blue &>> shift) &* Self.cells &+ (red &>> shift)
        return Neighbours(
            base: cell &* Self.lumaNodes,
            weights: SIMD4((1 - u) * (1 - v), (1 - u) * v, u * (1 - v), u * v))
    }

    /// Returns 8-bit luma in limited range, not rounded.
    @inline(__always) func luma(_ value: Int, at neighbours: Neighbours) -> Float {
        let (node, part) = Self.step(value)
        let near = luma[neighbours.base &+ node]
        return ((near + (luma[neighbours.base &+ node &+ 1] - near) * part) * neighbours.weights).sum()
    }

    /// Returns the index of the node nearest to 10-bit chroma values, for `coarseLuma`.
    @inline(__always) func node(blue: Int, red: Int) -> Int {
        let (shift, half) = (Self.chromaShift, 1 << (Self.chromaShift - 1))
        return ((blue &+ half) &>> shift) &* (Self.cells + 1) &+ (red &+ half) &>> shift
    }

    /// Returns the rounded luma at a node of chroma: one load, without interpolation.
    @inline(__always) func coarseLuma(_ value: Int, at node: Int) -> UInt8 { coarse[node &* 256 &+ value &>> 2] }

    /// Returns 8-bit chroma, not rounded.
    @inline(__always) func chroma(_ value: Int, at neighbours: Neighbours) -> (blue: Float, red: Float) {
        let (node, part) = Self.step(value)
        let near = chroma[neighbours.base &+ node]
        let both = near + (chroma[neighbours.base &+ node &+ 1] - near) * part
        return ((both.lowHalf * neighbours.weights).sum(), (both.highHalf * neighbours.weights).sum())
    }

    @inline(__always) private static func step(_ value: Int) -> (node: Int, part: Float) {
        (value &>> lumaShift, Float(value & ((1 << lumaShift) - 1)) * (1 / Float(1 << lumaShift)))
    }
}
