/// A PTP clock identity: 64 bits, unique in its network (IEEE 1588-2008, section 7.5.2.2).
package struct ClockIdentity: RawRepresentable, Hashable, Sendable, BitwiseCopyable, CustomStringConvertible {
    package var rawValue: UInt64
    @inlinable package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Sixteen hexadecimal digits.
    package var description: String {
        let digits = String(rawValue, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// A PTP port identity: a clock and one of its ports (IEEE 1588-2008, section 5.3.5).
package struct PortIdentity: Hashable, Sendable, BitwiseCopyable {
    var clock: ClockIdentity
    var port: UInt16

    init(clock: ClockIdentity, port: UInt16) {
        self.clock = clock
        self.port = port
    }

    /// The port number in messages of iOS senders.
    static let senderPort: UInt16 = 0x8005
}
