internal import AirPlayWire
internal import MediaCore

/// One packet of sound that waits for its moment, decrypted and still encoded.
struct StoredPacket: Sendable {
    /// 23 bits on a buffered, 16 bits on a realtime stream.
    let sequence: UInt32
    let timestamp: RTPTimestamp
    /// Names the format on a buffered stream; nothing on a realtime one.
    let source: UInt32
    let sound: [UInt8]

    /// Bytes it occupied on the wire, which are what a buffer's size is counted in.
    var wireBytes: Int { sound.count + BufferedPacketizer.overhead }
}

/// A queue on an array: constant time at both ends, memory given back now and then.
struct Queue<Element: Sendable>: Sendable {
    private var storage: [Element?] = []
    private var head = 0

    var count: Int { storage.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Element? { head < storage.count ? storage[head] : nil }

    mutating func append(_ element: Element) { storage.append(element) }

    @discardableResult
    mutating func popFirst() -> Element? {
        guard head < storage.count else { return nil }
        let element = storage[head]
        storage[head] = nil
        head += 1
        if head >= 1024, head * 2 >= storage.count {
            storage.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func removeAll() {
        storage = []
        head = 0
    }
}
