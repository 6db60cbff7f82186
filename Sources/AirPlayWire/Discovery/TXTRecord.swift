/// The key/value pairs in a service's DNS TXT record (RFC 6763, section 6): strings of at most 255 bytes each.
package struct TXTRecord: Hashable, Sendable {
    /// Maximum size of a record in bytes; a DNS record cannot be larger.
    static let limit = 64 << 10

    /// Values by lower-case key.
    private var entries: [String: [UInt8]] = [:]

    /// Parses untrusted bytes: strings, each preceded by its length. A string truncated by the end is dropped, as are
    /// strings without a key. The first of several equal keys counts (RFC 6763, section 6.4).
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

    /// Creates a record from separate strings, as returned by avahi.
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

    /// Returns the value's bytes; keys are case-insensitive. Nil if the key is absent, which means unknown, not false.
    package func bytes(_ key: String) -> [UInt8]? { entries[key.lowercased()] }

    /// Returns the value as text, invalid UTF-8 replaced.
    package subscript(key: String) -> String? { bytes(key).map { String(decoding: $0, as: UTF8.self) } }

    package var features: FeatureBits? { (self["features"] ?? self["ft"]).flatMap { FeatureBits(text: $0) } }
    package var statusFlags: StatusFlags? { (self["flags"] ?? self["sf"]).flatMap { StatusFlags(text: $0) } }
}
