/// Rewrites a Matroska file with other values (RFC 8794), and without its index, like an interrupted recording.
struct MatroskaEdit {
    private enum Name {
        static let segment: UInt32 = 0x1853_8067
        static let info: UInt32 = 0x1549_A966
        static let tracks: UInt32 = 0x1654_AE6B
        static let cluster: UInt32 = 0x1F43_B675
        static let timestamp: UInt32 = 0xE7
        static let scale: UInt32 = 0x2AD7B1
        static let duration: UInt32 = 0x4489
    }

    /// Nanoseconds per tick; nil keeps the value.
    var scale: UInt64?
    /// The duration in ticks; nil removes it.
    var duration: Double?
    /// Returns the new timestamp of a cluster from its index and its old timestamp.
    var timestamp: (Int, UInt64) -> UInt64 = { $1 }

    func edited(_ bytes: [UInt8]) -> [UInt8] {
        var (out, clusters) = ([UInt8](), 0)
        for (name, content) in Self.elements(bytes[...]) {
            guard name == Name.segment else {
                out += Self.element(name, Array(content))
                continue
            }
            out += Self.id(name) + [0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
            for (name, content) in Self.elements(content) {
                switch name {
                case Name.info: out += Self.element(name, info(content))
                case Name.tracks: out += Self.element(name, Array(content))
                case Name.cluster:
                    out += Self.element(name, cluster(content, clusters))
                    clusters += 1
                default: break
                }
            }
        }
        return out
    }

    private func info(_ content: ArraySlice<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        for (name, value) in Self.elements(content) where name != Name.duration {
            out += Self.element(name, name == Name.scale ? scale.map(Self.number) ?? Array(value) : Array(value))
        }
        return out + (duration.map { Self.element(Name.duration, Self.number($0.bitPattern)) } ?? [])
    }

    private func cluster(_ content: ArraySlice<UInt8>, _ number: Int) -> [UInt8] {
        Self.elements(content).flatMap { name, value in
            guard name == Name.timestamp else { return Self.element(name, Array(value)) }
            return Self.element(name, Self.number(timestamp(number, value.reduce(0) { $0 << 8 | UInt64($1) })))
        }
    }

    private static func number(_ value: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
    }

    private static func id(_ name: UInt32) -> [UInt8] {
        Array((0..<4).map { UInt8(truncatingIfNeeded: name >> (24 - 8 * $0)) }.drop { $0 == 0 })
    }

    private static func element(_ name: UInt32, _ content: [UInt8]) -> [UInt8] {
        id(name) + [0x01] + number(UInt64(content.count)).dropFirst() + content
    }

    private static func elements(_ bytes: ArraySlice<UInt8>) -> [(UInt32, ArraySlice<UInt8>)] {
        var (all, rest) = ([(UInt32, ArraySlice<UInt8>)](), bytes)
        while let first = rest.first, first != 0 {
            let name = rest.prefix(first.leadingZeroBitCount + 1).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(first.leadingZeroBitCount + 1)
            guard let mark = rest.first, mark != 0 else { return all }
            let width = mark.leadingZeroBitCount + 1
            let coded = rest.prefix(width).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(width)
            let content = rest.prefix(Int(clamping: coded & (1 << UInt64(7 * width) - 1)))
            all.append((name, content))
            rest = rest[content.endIndex...]
        }
        return all
    }
}
