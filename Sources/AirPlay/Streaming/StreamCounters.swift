internal import AirPlayWire
internal import MediaCore

/// Where the counters of a stream begin.
struct StreamCounters: Equatable, Sendable {
    var timestamp: RTPTimestamp
    /// Of the first packet, as far as the stream's circle goes.
    var sequence: UInt32
    /// Of the first packet; under a key of its own for each stream.
    var nonce: UInt64 = 0

    static func random() -> StreamCounters {
        StreamCounters(timestamp: RTPTimestamp(rawValue: .random(in: 0 ... .max)), sequence: .random(in: 0 ... .max))
    }
}
