internal import MediaCore

/// Serializes a grandmaster's messages into a reused buffer; allocates for the first few only.
package struct PTPMessageWriter: Sendable {
    private let identity: ClockIdentity
    /// The last message written.
    package private(set) var bytes: [UInt8] = []

    package init(identity: ClockIdentity) {
        self.identity = identity
        bytes.reserveCapacity(256)
    }

    private static let eventFlags = PTPHeader.twoStep | PTPHeader.unicast | PTPHeader.timescale
    private static let generalFlags = PTPHeader.unicast | PTPHeader.timescale
    /// logMessageInterval of Sync: 2⁻³ s, eight Sync messages per second.
    private static let syncLogInterval: UInt8 = 0xFD
    /// ORGANIZATION_EXTENSION (IEEE 1588-2008, section 14.3).
    private static let organisationTLV: UInt16 = 0x0003
    private static let organisation8021: [UInt8] = [0x00, 0x80, 0xC2]
    private static let organisationApple: [UInt8] = [0x00, 0x0D, 0x93]

    private mutating func begin(
        _ type: PTPMessageType, flags: UInt16, sequence: UInt16, interval: UInt8, control: UInt8 = 0,
        correction: Int64 = 0
    ) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(0x10 | type.rawValue)
        bytes.append(2)
        bytes.append(bigEndian: UInt16(0))
        bytes.append(bigEndian: UInt16(0))
        bytes.append(bigEndian: flags)
        bytes.append(bigEndian: correction)
        bytes.append(bigEndian: UInt32(0))
        append(PortIdentity(clock: identity, port: PortIdentity.senderPort))
        bytes.append(bigEndian: sequence)
        bytes.append(control)
        bytes.append(interval)
    }

    private mutating func end() {
        bytes[2] = UInt8(truncatingIfNeeded: bytes.count >> 8)
        bytes[3] = UInt8(truncatingIfNeeded: bytes.count)
    }

    private mutating func append(_ port: PortIdentity) {
        bytes.append(bigEndian: port.clock.rawValue)
        bytes.append(bigEndian: port.port)
    }

    private mutating func append(_ time: PTPTimestamp) {
        bytes.append(bigEndian: UInt16(truncatingIfNeeded: time.seconds >> 32))
        bytes.append(bigEndian: UInt32(truncatingIfNeeded: time.seconds))
        bytes.append(bigEndian: time.nanoseconds)
    }

    private mutating func appendZeros(_ count: Int) { for _ in 0..<count { bytes.append(0) } }

    /// Writes an Announce, 76 bytes, with this clock as grandmaster.
    package mutating func announce(_ quality: GrandmasterQuality, sequence: UInt16) {
        begin(.announce, flags: Self.generalFlags, sequence: sequence, interval: 0)
        appendZeros(13)
        bytes.append(quality.priority1)
        bytes.append(quality.clockClass)
        bytes.append(quality.accuracy)
        bytes.append(bigEndian: quality.variance)
        bytes.append(quality.priority2)
        bytes.append(bigEndian: quality.identity.rawValue)
        bytes.append(bigEndian: UInt16(0))
        bytes.append(quality.timeSource)
        // PATH_TRACE (IEEE 1588-2008, section 16.2).
        bytes.append(bigEndian: UInt16(0x0008))
        bytes.append(bigEndian: UInt16(8))
        bytes.append(bigEndian: quality.identity.rawValue)
        end()
    }

    /// Writes a two-step Sync, 44 bytes. Its timestamp follows in a Follow_Up with the same sequence number.
    package mutating func sync(sequence: UInt16) {
        begin(.sync, flags: Self.eventFlags, sequence: sequence, interval: Self.syncLogInterval)
        appendZeros(10)
        end()
    }

    /// Writes a Follow_Up, 96 bytes.
    ///
    /// - Parameters:
    ///   - origin: departure of the Sync.
    ///   - correction: correctionField, nanoseconds × 2¹⁶.
    package mutating func followUp(origin: PTPTimestamp, sequence: UInt16, correction: Int64 = 0) {
        begin(
            .followUp, flags: Self.generalFlags, sequence: sequence, interval: Self.syncLogInterval,
            correction: correction)
        append(origin)
        // Follow_Up information TLV (IEEE 802.1AS-2011, section 11.4.4.3), all fields zero.
        bytes.append(bigEndian: Self.organisationTLV)
        bytes.append(bigEndian: UInt16(28))
        bytes.append(contentsOf: Self.organisation8021)
        bytes.append(contentsOf: [0, 0, 1])
        appendZeros(22)
        bytes.append(bigEndian: Self.organisationTLV)
        bytes.append(bigEndian: UInt16(16))
        bytes.append(contentsOf: Self.organisationApple)
        bytes.append(contentsOf: [0, 0, 4])
        bytes.append(bigEndian: identity.rawValue)
        appendZeros(2)
        end()
    }

    /// Writes a Delay_Resp, 54 bytes.
    package mutating func delayResponse(received: PTPTimestamp, requester: PortIdentity, sequence: UInt16) {
        begin(.delayResponse, flags: Self.eventFlags, sequence: sequence, interval: Self.syncLogInterval)
        append(received)
        append(requester)
        end()
    }

    /// Writes a Pdelay_Resp, 54 bytes.
    mutating func peerDelayResponse(received: PTPTimestamp, requester: PortIdentity, sequence: UInt16) {
        begin(.peerDelayResponse, flags: Self.eventFlags, sequence: sequence, interval: Self.syncLogInterval)
        append(received)
        append(requester)
        end()
    }

    /// Writes a Pdelay_Resp_Follow_Up, 54 bytes.
    mutating func peerDelayResponseFollowUp(origin: PTPTimestamp, requester: PortIdentity, sequence: UInt16) {
        begin(.peerDelayResponseFollowUp, flags: Self.generalFlags, sequence: sequence, interval: Self.syncLogInterval)
        append(origin)
        append(requester)
        end()
    }

    /// Writes Apple's Signaling, 106 bytes. The meaning of its TLVs is unknown; receivers accept zeros.
    mutating func signaling(sequence: UInt16) {
        begin(.signaling, flags: Self.generalFlags, sequence: sequence, interval: 0x80, control: 5)
        appendZeros(10)
        for (subtype, length): (UInt8, UInt16) in [(1, 22), (5, 32)] {
            bytes.append(bigEndian: Self.organisationTLV)
            bytes.append(bigEndian: length)
            bytes.append(contentsOf: Self.organisationApple)
            bytes.append(contentsOf: [0, 0, subtype, 0, 0, 3, 1])
            appendZeros(Int(length) - 10)
        }
        end()
    }

    /// Writes a GRANT_UNICAST_TRANSMISSION for each request (IEEE 1588-2008, section 16.1.4.2). A request without a
    /// duration gets 300 s.
    package mutating func grant(_ requests: [UnicastRequest], to target: PortIdentity, sequence: UInt16) {
        begin(.signaling, flags: PTPHeader.unicast, sequence: sequence, interval: 0x7F, control: 5)
        append(target)
        for request in requests {
            bytes.append(bigEndian: UInt16(0x0005))
            bytes.append(bigEndian: UInt16(8))
            bytes.append(request.messageType << 4)
            bytes.append(request.logPeriod)
            bytes.append(bigEndian: request.duration == 0 ? 300 : request.duration)
            bytes.append(0)
            bytes.append(1)
        }
        end()
    }

    /// Writes a Delay_Req or Pdelay_Req, 44 or 54 bytes. Used by a follower, and by tests that act as a receiver.
    package mutating func request(_ type: PTPMessageType, sequence: UInt16) {
        begin(type, flags: PTPHeader.unicast, sequence: sequence, interval: 0x7F)
        appendZeros(type == .peerDelayRequest ? 20 : 10)
        end()
    }
}
