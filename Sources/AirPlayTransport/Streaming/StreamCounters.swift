internal import AirPlayWire
package import MediaCore

/// The initial counters of a stream.
package struct StreamCounters: Equatable, Sendable {
    package var timestamp: RTPTimestamp
    /// The sequence number of the first packet, truncated to the width of the stream's counter.
    package var sequence: UInt32
    /// The nonce of the first packet; each stream has its own key.
    package var nonce: UInt64 = 0

    package init(timestamp: RTPTimestamp, sequence: UInt32, nonce: UInt64 = 0) {
        (self.timestamp, self.sequence, self.nonce) = (timestamp, sequence, nonce)
    }

    /// Returns random timestamp and sequence number.
    package static func random() -> StreamCounters {
        StreamCounters(timestamp: RTPTimestamp(rawValue: .random(in: 0 ... .max)), sequence: .random(in: 0 ... .max))
    }
}
