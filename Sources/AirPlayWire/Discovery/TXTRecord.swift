/// The key and value pairs a service announces (RFC 6763, section 6): strings of at most 255 bytes each.
package struct TXTRecord: Hashable, Sendable {
    /// The most that a record may hold (a DNS record cannot hold more).
    package static let limit = 64 << 10

    private var entries: [String: [UInt8]] = [:]

    package init() {}

    /// Reads untrusted bytes: each string is preceded by its length. A string cut by the end is dropped, as are
    /// strings without a key; of several with one key the first counts (RFC 6763, section 6.4).
    package init(wire bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= Self.limit else {
            throw .tooMuch("A service announced a description of more than \(Self.limit) bytes.")
        }
        var rest = bytes[...]
        while let length = rest.popFirst() {
            guard rest.count >= Int(length) else { break }
            add(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
        }
    }

    /// From strings that were already separated, as avahi gives them.
    package init(strings: [[UInt8]]) throws(WireError) {
        guard strings.reduce(0, { $0 + $1.count + 1 }) <= Self.limit else {
            throw .tooMuch("A service announced a description of more than \(Self.limit) bytes.")
        }
        for string in strings { add(string[...]) }
    }

    private mutating func add(_ string: ArraySlice<UInt8>) {
        let key = string.prefix { $0 != 0x3D }
        guard !key.isEmpty, key.allSatisfy({ (0x20...0x7E).contains($0) }) else { return }
        let name = String(decoding: key, as: UTF8.self).lowercased()
        if entries[name] == nil { entries[name] = Array(string.dropFirst(key.count + 1)) }
    }

    /// The value's bytes; keys compare without case. nil: the key is absent, which means "no news", not "false".
    package func bytes(_ key: String) -> [UInt8]? { entries[key.lowercased()] }

    /// The value as text.
    package subscript(key: String) -> String? { bytes(key).map { String(decoding: $0, as: UTF8.self) } }

    package var features: FeatureBits? { (self["features"] ?? self["ft"]).flatMap { FeatureBits(text: $0) } }
    package var statusFlags: StatusFlags? { (self["flags"] ?? self["sf"]).flatMap { StatusFlags(text: $0) } }
}
