/// Who a clock is: 64 bits, unique in its network (IEEE 1588-2008, section 7.5.2.2).
public struct ClockIdentity: RawRepresentable, Hashable, Sendable, BitwiseCopyable, CustomStringConvertible {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Sixteen hexadecimal digits.
    public var description: String {
        let digits = String(rawValue, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

/// One port of a clock (IEEE 1588-2008, section 5.3.5).
public struct PortIdentity: Hashable, Sendable, BitwiseCopyable {
    public var clock: ClockIdentity
    public var port: UInt16

    public init(clock: ClockIdentity, port: UInt16) {
        self.clock = clock
        self.port = port
    }

    /// The port number that iOS sends from.
    static let senderPort: UInt16 = 0x8005
}
