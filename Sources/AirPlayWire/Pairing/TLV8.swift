/// The items of a pairing message (HomeKit Accessory Protocol, TLV8): one-byte type, one-byte length, value.
///
/// Values longer than 255 bytes are transmitted as adjacent items of one type and joined here.
package struct TLV8: Hashable, Sendable {
    /// The item types of pairing.
    package struct Tag: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let method = Tag(rawValue: 0x00)
        static let identifier = Tag(rawValue: 0x01)
        package static let salt = Tag(rawValue: 0x02)
        package static let publicKey = Tag(rawValue: 0x03)
        package static let proof = Tag(rawValue: 0x04)
        package static let encryptedData = Tag(rawValue: 0x05)
        package static let state = Tag(rawValue: 0x06)
        package static let error = Tag(rawValue: 0x07)
        static let retryDelay = Tag(rawValue: 0x08)
        static let signature = Tag(rawValue: 0x0A)
        package static let flags = Tag(rawValue: 0x13)
    }

    package struct Item: Hashable, Sendable {
        package var tag: Tag
        package var value: [UInt8]
        package init(_ tag: Tag, _ value: [UInt8]) {
            self.tag = tag
            self.value = value
        }
    }

    /// Maximum size of a joined item in bytes.
    package static let itemLimit = 64 << 10

    package var items: [Item]

    package init(_ items: [Item] = []) { self.items = items }

    /// Parses untrusted bytes; unknown types are preserved.
    package init(decoding bytes: some Sequence<UInt8>) throws(WireError) {
        items = []
        var iterator = bytes.makeIterator()
        // An item is continued only by an adjacent item of its type, and only if its length is 255.
        var continues: Tag?
        while let type = iterator.next() {
            guard let length = iterator.next() else {
                throw .malformed("The speaker sent a truncated pairing message.")
            }
            var value: [UInt8] = []
            value.reserveCapacity(Int(length))
            for _ in 0..<length {
                guard let byte = iterator.next() else {
                    throw .malformed("The speaker sent a truncated pairing message.")
                }
                value.append(byte)
            }
            let tag = Tag(rawValue: type)
            if continues == tag {
                items[items.count - 1].value.append(contentsOf: value)
                guard items[items.count - 1].value.count <= Self.itemLimit else {
                    throw .tooMuch("The speaker sent a pairing item of more than \(Self.itemLimit) bytes.")
                }
            } else {
                guard items.count < 256 else { throw .tooMuch("The speaker sent more than 256 pairing items.") }
                items.append(Item(tag, value))
            }
            continues = length == 255 ? tag : nil
        }
    }

    /// Returns the first value of a type.
    package subscript(tag: Tag) -> [UInt8]? { items.first { $0.tag == tag }?.value }

    /// Returns the serialized message.
    package func encoded() -> [UInt8] {
        var out: [UInt8] = []
        for item in items {
            var rest = item.value[...]
            repeat {
                let fragment = rest.prefix(255)
                out.append(item.tag.rawValue)
                out.append(UInt8(fragment.count))
                out.append(contentsOf: fragment)
                rest = rest.dropFirst(fragment.count)
            } while !rest.isEmpty
        }
        return out
    }
}
