/// A QR code of version 3 with error correction level L (ISO/IEC 18004): 29 by 29 modules, 53 bytes.
///
/// A link to this computer has at most 52 bytes (`AccessToken`), so that there is one version, one block of error
/// correction, and nothing to choose. The mask is fixed too: masks prevent patterns of regular data, and most of a link
/// is a random token.
package struct QRCode: Sendable, Equatable {
    /// The number of modules on a side.
    static let size = 29
    /// The maximum length of a text in bytes.
    static let maxBytes = 53
    /// Of version 3-L (table 9).
    private static let (dataCount, correctionCount) = (55, 15)
    /// Level L with mask 0, in which modules with an even sum of row and column are inverted (tables 10 and C.1).
    private static let format = 0b111_0111_1100_0100

    /// The modules by row; true is dark.
    package private(set) var modules = [[Bool]](repeating: [Bool](repeating: false, count: size), count: size)
    /// Whether a module belongs to a pattern or to the format information, which have no data.
    private var isReserved = [[Bool]](repeating: [Bool](repeating: false, count: size), count: size)

    /// Encodes a text; nil if it is too long.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.maxBytes else { return nil }
        drawPatterns()
        drawFormat()
        let data = Self.codewords(Array(text.utf8))
        draw(data + Self.correction(of: data))
    }

    // MARK: Codewords

    /// Returns the data: the mode of bytes, the length, the bytes, a terminator and padding (7.4).
    private static func codewords(_ text: [UInt8]) -> [UInt8] {
        var bits = [(0b0100, 4), (text.count, 8)] + text.map { (Int($0), 8) } + [(0, 4)]
        // Mode and terminator share a codeword; the padding alternates.
        for index in 0..<(maxBytes - text.count) { bits.append((index.isMultiple(of: 2) ? 0xEC : 0x11, 8)) }
        var (codewords, pending, count) = ([UInt8](), 0, 0)
        for (value, width) in bits {
            (pending, count) = (pending << width | value, count + width)
            while count >= 8 {
                count -= 8
                codewords.append(UInt8(truncatingIfNeeded: pending >> count))
            }
            pending &= 0xFF
        }
        return codewords
    }

    /// Returns the remainder of the division by the generator polynomial (7.5.2, annex A).
    private static func correction(of data: [UInt8]) -> [UInt8] {
        var generator: [UInt8] = [1]
        var root: UInt8 = 1
        for _ in 0..<correctionCount {
            let shifted = generator + [0]
            generator = shifted.indices.map { shifted[$0] ^ ($0 > 0 ? product(generator[$0 - 1], root) : 0) }
            root = product(root, 2)
        }
        var rest = data + [UInt8](repeating: 0, count: correctionCount)
        for index in data.indices {
            let factor = rest[index]
            for (offset, coefficient) in generator.enumerated() { rest[index + offset] ^= product(coefficient, factor) }
        }
        return Array(rest[data.count...])
    }

    /// Returns a product in the field of 256 elements with the polynomial 0x11D.
    private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var (result, factor) = (0, Int(left))
        for bit in 0..<8 {
            if right >> bit & 1 == 1 { result ^= factor }
            factor = factor << 1 ^ (factor > 0x7F ? 0x11D : 0)
        }
        return UInt8(result)
    }

    // MARK: Modules

    private mutating func set(_ row: Int, _ column: Int, _ isDark: Bool) {
        guard (0..<Self.size).contains(row), (0..<Self.size).contains(column) else { return }
        (modules[row][column], isReserved[row][column]) = (isDark, true)
    }

    private mutating func drawPatterns() {
        for index in 0..<Self.size {
            set(6, index, index.isMultiple(of: 2))
            set(index, 6, index.isMultiple(of: 2))
        }
        // Finder patterns with separators, and the alignment pattern: concentric squares.
        for (row, column) in [(3, 3), (3, Self.size - 4), (Self.size - 4, 3)] {
            drawSquares(row, column, radius: 4) { $0 != 2 && $0 != 4 }
        }
        drawSquares(22, 22, radius: 2) { $0 != 1 }
    }

    private mutating func drawSquares(_ row: Int, _ column: Int, radius: Int, _ isDark: (Int) -> Bool) {
        for y in -radius...radius {
            for x in -radius...radius { set(row + y, column + x, isDark(max(abs(x), abs(y)))) }
        }
    }

    /// Draws both copies of the format information, and the dark module (7.9.1).
    private mutating func drawFormat() {
        let last = Self.size - 1
        for bit in 0..<15 {
            let isDark = Self.format >> bit & 1 == 1
            let edge = bit < 6 ? bit : bit < 8 ? bit + 1 : last - 14 + bit
            set(edge, 8, isDark)
            set(8, bit < 8 ? last - bit : bit == 8 ? 7 : 14 - bit, isDark)
        }
        set(last - 7, 8, true)
    }

    /// Draws codewords in columns of two modules, upwards and downwards in turn, from the right (7.7.3).
    private mutating func draw(_ codewords: [UInt8]) {
        var bit = 0
        for pair in stride(from: Self.size - 1, to: 0, by: -2) {
            // The column of the timing pattern is skipped.
            let right = pair <= 6 ? pair - 1 : pair
            let isUpwards = (Self.size - 1 - pair) / 2 % 2 == 0
            for step in 0..<Self.size {
                let row = isUpwards ? Self.size - 1 - step : step
                for column in [right, right - 1] where !isReserved[row][column] {
                    // Version 3 has 7 modules more than bits; they are light.
                    let isDark = bit < codewords.count * 8 && codewords[bit / 8] >> (7 - bit % 8) & 1 == 1
                    modules[row][column] = isDark != (row + column).isMultiple(of: 2)
                    bit += 1
                }
            }
        }
    }

    // MARK: Text

    /// The lines for a terminal, in black on white; two rows of modules each, with a margin.
    package var lines: [String] {
        let margin = 2
        func isDark(_ row: Int, _ column: Int) -> Bool {
            (0..<Self.size).contains(row) && (0..<Self.size).contains(column) && modules[row][column]
        }
        return stride(from: -margin, to: Self.size + margin, by: 2).map { row in
            (-margin..<Self.size + margin).map { column in
                switch (isDark(row, column), isDark(row + 1, column)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }.joined()
        }
    }
}
