/// The numbers of a stream's packets, which go round: how to count on, and how far two of them lie apart.
///
/// There is no order on a circle; distances are right as long as they are less than half of it. RTP's timestamps have a
/// type of their own, `RTPTimestamp`.
package struct SequenceCircle: Hashable, Sendable {
    /// Realtime streams: 16 bits (RFC 3550, section 5.1), 4.3 minutes of packets from one side of the circle to the other.
    package static let realtime = SequenceCircle(bits: 16)
    /// Buffered streams: 23 bits, 8.5 hours of lossless packets from one side to the other.
    package static let buffered = SequenceCircle(bits: 23)

    private let bits: UInt32

    /// How many numbers there are.
    package var count: UInt32 { 1 << bits }

    /// The number that a count which never goes round has on the circle.
    package func number(_ count: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: count) & (self.count - 1) }

    /// The number that lies some packets further on.
    package func advanced(_ number: UInt32, by packets: UInt32 = 1) -> UInt32 { (number &+ packets) & (count - 1) }

    /// Packets from one number to another; negative when the other comes first.
    package func distance(from first: UInt32, to other: UInt32) -> Int32 {
        // Shifted to the top of 32 bits, a smaller circle goes round by itself.
        Int32(bitPattern: (other &- first) << (32 - bits)) >> Int32(32 - bits)
    }
}
