internal import AirPlayWire
internal import MediaCore

/// The initial counters of a stream.
struct StreamCounters: Equatable, Sendable {
    var timestamp: RTPTimestamp
    /// The sequence number of the first packet, truncated to the width of the stream's counter.
    var sequence: UInt32
    /// The nonce of the first packet; each stream has its own key.
    var nonce: UInt64 = 0

    /// Returns random timestamp and sequence number.
    static func random() -> StreamCounters {
        StreamCounters(timestamp: RTPTimestamp(rawValue: .random(in: 0 ... .max)), sequence: .random(in: 0 ... .max))
    }
}
