internal import MediaCore

/// The PTP message types that AirPlay uses (IEEE 1588-2008, table 19).
package enum PTPMessageType: UInt8, Hashable, Sendable, BitwiseCopyable {
    case sync = 0x0
    case delayRequest = 0x1
    case peerDelayRequest = 0x2
    case peerDelayResponse = 0x3
    case followUp = 0x8
    case delayResponse = 0x9
    case peerDelayResponseFollowUp = 0xA
    case announce = 0xB
    case signaling = 0xC

    /// True for event messages, which are timestamped and use UDP 319; general messages use 320.
    var isEvent: Bool { rawValue < 8 }
}

/// The common message header (IEEE 1588-2008, section 13.3).
package struct PTPHeader: Hashable, Sendable, BitwiseCopyable {
    var type: PTPMessageType
    var flags: UInt16
    /// correctionField: nanoseconds × 2¹⁶, added to the message's timestamp.
    package var correction: Int64
    package var source: PortIdentity
    package var sequence: UInt16
    var control: UInt8
    /// logMessageInterval: logarithm to base 2 of the interval in seconds.
    var logInterval: UInt8

    /// Size of the header in bytes.
    package static let size = 34
    /// Bits of `flags` (IEEE 1588-2008, section 13.3.2.6): twoStepFlag, unicastFlag, ptpTimescale.
    static let twoStep: UInt16 = 0x0200
    static let unicast: UInt16 = 0x0400
    static let timescale: UInt16 = 0x0008
}

/// The grandmaster attributes of an Announce; lower is better, compared member by member (IEEE 1588-2008,
/// section 9.3.4).
package struct GrandmasterQuality: Hashable, Sendable, BitwiseCopyable {
    package var priority1: UInt8
    var clockClass: UInt8
    var accuracy: UInt8
    var variance: UInt16
    package var priority2: UInt8
    package var identity: ClockIdentity
    var timeSource: UInt8

    package init(
        priority1: UInt8, clockClass: UInt8, accuracy: UInt8, variance: UInt16, priority2: UInt8,
        identity: ClockIdentity, timeSource: UInt8
    ) {
        self.priority1 = priority1
        self.clockClass = clockClass
        self.accuracy = accuracy
        self.variance = variance
        self.priority2 = priority2
        self.identity = identity
        self.timeSource = timeSource
    }

    /// Returns the attributes that an iOS sender announces; better than every receiver tested so far.
    package static func sender(_ identity: ClockIdentity) -> GrandmasterQuality {
        GrandmasterQuality(
            priority1: 128, clockClass: 6, accuracy: 0x21, variance: 0x436A, priority2: 128, identity: identity,
            timeSource: 0x20)
    }
}

/// A REQUEST_UNICAST_TRANSMISSION: asks the peer to send one message type (IEEE 1588-2008, section 16.1).
package struct UnicastRequest: Hashable, Sendable, BitwiseCopyable {
    var messageType: UInt8
    var logPeriod: UInt8
    /// Duration in seconds; 0 lets the granter choose.
    var duration: UInt32
}

/// A received PTP message: header and contents, both validated.
package struct PTPMessage: Hashable, Sendable {
    /// The contents by message type.
    package enum Content: Hashable, Sendable {
        /// The timestamps in Sync and in the requests are not used.
        case sync
        case delayRequest
        case peerDelayRequest
        case followUp(preciseOrigin: PTPTimestamp)
        case delayResponse(received: PTPTimestamp, requester: PortIdentity)
        case peerDelayResponse(received: PTPTimestamp, requester: PortIdentity)
        case peerDelayResponseFollowUp(origin: PTPTimestamp, requester: PortIdentity)
        case announce(GrandmasterQuality, stepsRemoved: UInt16)
        case signaling(target: PortIdentity, requests: [UnicastRequest])
    }

    package let header: PTPHeader
    package let content: Content

    /// Parses untrusted bytes. Nil for anything but a complete version 2 message with transport-specific nibble 1
    /// (IEEE 802.1AS), which AirPlay uses.
    package init?(_ bytes: ArraySlice<UInt8>) {
        var reader = ByteReader(bytes)
        guard let first = reader.integer(UInt8.self), first >> 4 == 1,
            let type = PTPMessageType(rawValue: first & 0xF), let version = reader.integer(UInt8.self),
            version & 0xF == 2, let length = reader.integer(UInt16.self), Int(length) >= PTPHeader.size,
            Int(length) <= bytes.count, reader.skip(2), let flags = reader.integer(UInt16.self),
            let correction = reader.integer(Int64.self), reader.skip(4), let source = reader.portIdentity(),
            let sequence = reader.integer(UInt16.self), let control = reader.integer(UInt8.self),
            let interval = reader.integer(UInt8.self)
        else { return nil }
        header = PTPHeader(
            type: type, flags: flags, correction: correction, source: source, sequence: sequence, control: control,
            logInterval: interval)
        let body = bytes[(bytes.startIndex + PTPHeader.size)..<(bytes.startIndex + Int(length))]
        guard let content = Self.content(type, ByteReader(body)) else { return nil }
        self.content = content
    }

    private static func content(_ type: PTPMessageType, _ body: ByteReader) -> Content? {
        var reader = body
        // Every body begins with a timestamp or a port identity, ten bytes each.
        switch type {
        case .sync: return reader.skip(10) ? .sync : nil
        case .delayRequest: return reader.skip(10) ? .delayRequest : nil
        case .peerDelayRequest: return reader.skip(10) ? .peerDelayRequest : nil
        case .followUp:
            guard let time = reader.timestamp() else { return nil }
            return .followUp(preciseOrigin: time)
        case .delayResponse, .peerDelayResponse, .peerDelayResponseFollowUp:
            guard let time = reader.timestamp(), let requester = reader.portIdentity() else { return nil }
            switch type {
            case .delayResponse: return .delayResponse(received: time, requester: requester)
            case .peerDelayResponse: return .peerDelayResponse(received: time, requester: requester)
            default: return .peerDelayResponseFollowUp(origin: time, requester: requester)
            }
        case .announce: return announce(&reader)
        case .signaling: return signaling(&reader)
        }
    }

    private static func announce(_ reader: inout ByteReader) -> Content? {
        // Skips originTimestamp, currentUtcOffset and a reserved byte.
        guard reader.skip(13), let priority1 = reader.integer(UInt8.self),
            let clockClass = reader.integer(UInt8.self), let accuracy = reader.integer(UInt8.self),
            let variance = reader.integer(UInt16.self), let priority2 = reader.integer(UInt8.self),
            let identity = reader.integer(UInt64.self), let steps = reader.integer(UInt16.self),
            let source = reader.integer(UInt8.self)
        else { return nil }
        return .announce(
            GrandmasterQuality(
                priority1: priority1, clockClass: clockClass, accuracy: accuracy, variance: variance,
                priority2: priority2, identity: ClockIdentity(rawValue: identity), timeSource: source),
            stepsRemoved: steps)
    }

    /// REQUEST_UNICAST_TRANSMISSION (IEEE 1588-2008, table 34); other TLVs are skipped.
    private static let requestTLV: UInt16 = 0x0004

    private static func signaling(_ reader: inout ByteReader) -> Content? {
        guard let target = reader.portIdentity() else { return nil }
        var requests: [UnicastRequest] = []
        while let type = reader.integer(UInt16.self), let length = reader.integer(UInt16.self),
            let value = reader.readBytes(Int(length))
        {
            guard type == requestTLV, length >= 6, requests.count < 8 else { continue }
            var fields = ByteReader(value)
            guard let kind = fields.integer(UInt8.self), let period = fields.integer(UInt8.self),
                let duration = fields.integer(UInt32.self)
            else { continue }
            requests.append(UnicastRequest(messageType: kind >> 4, logPeriod: period, duration: duration))
        }
        return .signaling(target: target, requests: requests)
    }
}

extension ByteReader {
    fileprivate mutating func portIdentity() -> PortIdentity? {
        guard let clock = integer(UInt64.self), let port = integer(UInt16.self) else { return nil }
        return PortIdentity(clock: ClockIdentity(rawValue: clock), port: port)
    }

    fileprivate mutating func timestamp() -> PTPTimestamp? {
        guard let high = integer(UInt16.self), let low = integer(UInt32.self), let rest = integer(UInt32.self) else {
            return nil
        }
        return PTPTimestamp(seconds: UInt64(high) << 32 | UInt64(low), nanoseconds: rest)
    }
}
