internal import AirPlayWire
internal import MediaCore

/// A decrypted, still encoded audio packet.
struct StoredPacket: Sendable {
    /// 23 bits on a buffered stream, 16 bits on a realtime one.
    let sequence: UInt32
    let timestamp: RTPTimestamp
    /// The SSRC, which identifies the format of a buffered stream; 0 on a realtime one.
    let source: UInt32
    let audio: [UInt8]

    /// Size in bytes on the wire; buffer sizes are measured in these.
    var wireBytes: Int { audio.count + BufferedPacketizer.overhead }
}

/// A FIFO queue on an array: amortized constant time; the memory of consumed elements is released in batches.
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
