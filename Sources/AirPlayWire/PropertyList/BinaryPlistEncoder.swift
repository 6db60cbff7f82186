internal import MediaCore

extension PropertyList {
    /// Returns the binary form ("bplist00"). Dictionary keys are sorted, so equal values yield equal bytes.
    ///
    /// Numbers above `Int64.max` are written as 16-byte integers. For a receiver that expects the signed form, pass
    /// `.integer` with the same bit pattern.
    package func binary() -> [UInt8] {
        var encoder = BinaryPlistEncoder()
        return encoder.encode(self)
    }
}

private struct BinaryPlistEncoder {
    private var objects: [[UInt8]] = []
    private var containers: [(index: Int, references: [Int])] = []
    private var strings: [String: Int] = [:]

    mutating func encode(_ root: PropertyList) -> [UInt8] {
        _ = insert(root)
        let referenceSize = objects.count <= 0x100 ? 1 : objects.count <= 0x1_0000 ? 2 : 4
        for container in containers {
            for reference in container.references {
                Self.append(UInt64(reference), size: referenceSize, to: &objects[container.index])
            }
        }
        var out = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(out.count)
            out.append(contentsOf: object)
        }
        let table = out.count
        let offsetSize = table <= 0xFF ? 1 : table <= 0xFFFF ? 2 : 4
        for offset in offsets { Self.append(UInt64(offset), size: offsetSize, to: &out) }
        out.append(contentsOf: [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)])
        out.append(bigEndian: UInt64(objects.count))
        out.append(bigEndian: UInt64(0))
        out.append(bigEndian: UInt64(table))
        return out
    }

    // Static: a method would retain a copy of `objects` during the mutation and force copy-on-write.
    private static func append(_ value: UInt64, size: Int, to out: inout [UInt8]) {
        for shift in stride(from: (size - 1) * 8, through: 0, by: -8) {
            out.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
        }
    }

    private mutating func add(_ object: [UInt8]) -> Int {
        objects.append(object)
        return objects.count - 1
    }

    private func integer(_ value: Int64) -> [UInt8] {
        var out: [UInt8] = []
        switch value {
        case 0...0xFF: out = [0x10, UInt8(value)]
        case 0...0xFFFF:
            out = [0x11]
            out.append(bigEndian: UInt16(value))
        case 0...0xFFFF_FFFF:
            out = [0x12]
            out.append(bigEndian: UInt32(value))
        default:
            out = [0x13]
            out.append(bigEndian: value)
        }
        return out
    }

    private func header(_ kind: UInt8, _ count: Int) -> [UInt8] {
        count < 0xF ? [kind << 4 | UInt8(count)] : [kind << 4 | 0xF] + integer(Int64(count))
    }

    private mutating func insert(_ text: String) -> Int {
        if let known = strings[text] { return known }
        let utf8 = Array(text.utf8)
        let index: Int
        if utf8.allSatisfy({ $0 < 0x80 }) {
            index = add(header(0x5, utf8.count) + utf8)
        } else {
            let units = Array(text.utf16)
            var object = header(0x6, units.count)
            for unit in units { object.append(bigEndian: unit) }
            index = add(object)
        }
        strings[text] = index
        return index
    }

    private mutating func insert(_ value: PropertyList) -> Int {
        switch value {
        case .null: return add([0x00])
        case .boolean(let flag): return add([flag ? 0x09 : 0x08])
        case .integer(let number): return add(integer(number))
        case .unsigned(let number):
            var object: [UInt8] = [0x14, 0, 0, 0, 0, 0, 0, 0, 0]
            object.append(bigEndian: number)
            return add(object)
        case .real(let number):
            var object: [UInt8] = [0x23]
            object.append(bigEndian: number.bitPattern)
            return add(object)
        case .date(let seconds):
            var object: [UInt8] = [0x33]
            object.append(bigEndian: seconds.bitPattern)
            return add(object)
        case .uid(let number):
            var object: [UInt8] = [0x87]
            object.append(bigEndian: number)
            return add(object)
        case .data(let bytes): return add(header(0x4, bytes.count) + bytes)
        case .string(let text): return insert(text)
        case .array(let items):
            let index = add(header(0xA, items.count))
            let references = items.map { insert($0) }
            containers.append((index, references))
            return index
        case .dictionary(let members):
            let index = add(header(0xD, members.count))
            let keys = members.keys.sorted()
            let keyReferences = keys.map { insert($0) }
            let valueReferences = keys.map { insert(members[$0] ?? .null) }
            containers.append((index, keyReferences + valueReferences))
            return index
        }
    }
}
