internal import CSystemd
internal import Glibc

/// Reads the arguments of a message of libsystemd, within limits.
struct BusMessageReader {
    private enum Limit {
        static let textBytes = 64 << 10
        static let values = 4096
        static let depth = 8
    }

    /// A value that is not supported, or beyond a limit.
    private struct Unreadable: Error {}

    private let message: OpaquePointer
    private let takesDescriptors: Bool
    /// The number of values that may still be read.
    private var left = Limit.values

    private init(_ message: OpaquePointer, takesDescriptors: Bool) {
        (self.message, self.takesDescriptors) = (message, takesDescriptors)
    }

    /// Returns the arguments; nil if one is not supported, or they are beyond a limit.
    ///
    /// - Parameter takesDescriptors: Whether the caller closes the descriptors among them; otherwise they are not
    ///   supported.
    static func values(in message: OpaquePointer, takesDescriptors: Bool = false) -> [BusValue]? {
        var reader = BusMessageReader(message, takesDescriptors: takesDescriptors)
        do throws(Unreadable) { return try reader.values(depth: 0) } catch { return nil }
    }

    /// Returns the values up to the end of the container.
    private mutating func values(depth: Int) throws(Unreadable) -> [BusValue] {
        var values: [BusValue] = []
        while true {
            var type: CChar = 0
            var contents: UnsafePointer<CChar>?
            let outcome = csystemd_message_peek(message, &type, &contents)
            guard outcome != 0 else { return values }
            left -= 1
            guard outcome > 0, left >= 0, depth <= Limit.depth else { throw Unreadable() }
            values.append(try value(type, contents.map { String(cString: $0) } ?? "", depth))
        }
    }

    private mutating func value(_ type: CChar, _ contents: String, _ depth: Int) throws(Unreadable) -> BusValue {
        switch UnicodeScalar(UInt8(bitPattern: type)) {
        case "b": return .flag(try basic(Int32(0), type) != 0)
        case "i": return .int32(try basic(0, type))
        case "u": return .uint32(try basic(0, type))
        case "x": return .int64(try basic(0, type))
        case "d": return .double(try basic(0, type))
        case "s": return .text(try string(type))
        case "o": return .path(try string(type))
        case "h":
            guard takesDescriptors else { throw Unreadable() }
            let descriptor = csystemd_message_read_descriptor(message)
            guard descriptor >= 0 else { throw Unreadable() }
            return .descriptor(descriptor)
        case "v":
            let inner = try container(type, contents, depth)
            guard let value = inner.first else { throw Unreadable() }
            return .variant(value)
        case "a" where contents == "{sv}": return .dictionary(try dictionary(depth))
        case "a": return .array(of: contents, try container(type, contents, depth))
        default: throw Unreadable()
        }
    }

    private mutating func container(
        _ type: CChar, _ contents: String, _ depth: Int
    ) throws(Unreadable) -> [BusValue] {
        try enter(type, contents)
        let inner = try values(depth: depth + 1)
        try exit()
        return inner
    }

    private mutating func dictionary(_ depth: Int) throws(Unreadable) -> [(String, BusValue)] {
        var members: [(String, BusValue)] = []
        try enter(CChar(UInt8(ascii: "a")), "{sv}")
        while true {
            let outcome = csystemd_message_enter(message, CChar(UInt8(ascii: "e")), "sv")
            guard outcome != 0 else { break }
            guard outcome > 0 else { throw Unreadable() }
            let pair = try values(depth: depth + 1)
            guard pair.count == 2, let name = pair[0].text, let value = pair[1].content else { throw Unreadable() }
            members.append((name, value))
            try exit()
        }
        try exit()
        return members
    }

    private func basic<Number: BitwiseCopyable>(_ zero: Number, _ type: CChar) throws(Unreadable) -> Number {
        var number = zero
        guard csystemd_message_read(message, type, &number) > 0 else { throw Unreadable() }
        return number
    }

    private func string(_ type: CChar) throws(Unreadable) -> String {
        var pointer: UnsafePointer<CChar>?
        guard csystemd_message_read(message, type, &pointer) > 0, let pointer,
            strnlen(pointer, Limit.textBytes + 1) <= Limit.textBytes
        else { throw Unreadable() }
        return String(cString: pointer)
    }

    private func enter(_ type: CChar, _ contents: String) throws(Unreadable) {
        guard csystemd_message_enter(message, type, contents) > 0 else { throw Unreadable() }
    }

    private func exit() throws(Unreadable) {
        guard csystemd_message_exit(message) >= 0 else { throw Unreadable() }
    }
}

extension BusValue {
    /// Appends the value to a message. Returns false if libsystemd refuses it.
    func append(to message: OpaquePointer) -> Bool {
        switch self {
        case .flag(let flag): Self.basic(Int32(flag ? 1 : 0), "b", message)
        case .int32(let number): Self.basic(number, "i", message)
        case .uint32(let number): Self.basic(number, "u", message)
        case .int64(let number): Self.basic(number, "x", message)
        case .double(let number): Self.basic(number, "d", message)
        case .descriptor(let descriptor): Self.basic(descriptor, "h", message)
        case .text(let text): text.withCString { csystemd_message_append(message, Self.code("s"), $0) >= 0 }
        case .path(let path): path.withCString { csystemd_message_append(message, Self.code("o"), $0) >= 0 }
        case .variant(let value): Self.container("v", value.signature, in: message) { value.append(to: message) }
        case .array(let element, let values):
            Self.container("a", element, in: message) { values.allSatisfy { $0.append(to: message) } }
        case .dictionary(let members):
            Self.container("a", "{sv}", in: message) {
                members.allSatisfy { name, value in
                    Self.container("e", "sv", in: message) {
                        BusValue.text(name).append(to: message) && BusValue.variant(value).append(to: message)
                    }
                }
            }
        }
    }

    private static func code(_ type: UnicodeScalar) -> CChar { CChar(truncatingIfNeeded: type.value) }

    private static func basic(_ number: some BitwiseCopyable, _ type: UnicodeScalar, _ message: OpaquePointer) -> Bool {
        withUnsafePointer(to: number) { csystemd_message_append(message, code(type), $0) >= 0 }
    }

    private static func container(
        _ type: UnicodeScalar, _ contents: String, in message: OpaquePointer, _ body: () -> Bool
    ) -> Bool {
        csystemd_message_open(message, code(type), contents) >= 0 && body() && csystemd_message_close(message) >= 0
    }
}
