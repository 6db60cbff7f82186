/// Wrapping sequence numbers of a stream: increment and signed distance.
///
/// Wrapping numbers have no order; distances are correct below half the range. RTP timestamps have their own type,
/// `RTPTimestamp`.
package struct SequenceCircle: Hashable, Sendable {
    /// Realtime streams: 16 bits (RFC 3550, section 5.1). Half the range is 4.3 minutes of packets.
    package static let realtime = SequenceCircle(bits: 16)
    /// Buffered streams: 23 bits. Half the range is 8.5 hours of lossless packets.
    package static let buffered = SequenceCircle(bits: 23)

    private let bits: UInt32

    /// The number of distinct sequence numbers.
    package var count: UInt32 { 1 << bits }

    /// Returns the sequence number of a non-wrapping packet count.
    package func number(_ count: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: count) & (self.count - 1) }

    /// Returns the sequence number a number of packets later.
    package func advanced(_ number: UInt32, by packets: UInt32 = 1) -> UInt32 { (number &+ packets) & (count - 1) }

    /// Returns the packets from one number to another; negative if `other` precedes `first`.
    package func distance(from first: UInt32, to other: UInt32) -> Int32 {
        // A shift to the top of 32 bits lets smaller ranges wrap in two's complement.
        Int32(bitPattern: (other &- first) << (32 - bits)) >> Int32(32 - bits)
    }
}
