/// What a receiver says about itself at `/info`.
package struct ReceiverInfo: Hashable, Sendable {
    package let name: String?
    package let model: String?
    package let deviceID: String?
    package let sourceVersion: String?
    package let features: FeatureBits?
    package let statusFlags: StatusFlags?
    /// dB; −144 is mute.
    package let initialVolume: Double?
    /// Bits of `StreamFormat.bit` that buffered streams may carry; nil when the receiver does not say.
    package let bufferedFormats: Set<Int>?
    /// The same for realtime streams.
    package let realtimeFormats: Set<Int>?
    /// This computer's address as the receiver sees it.
    package let senderAddress: String?

    package init(_ reply: PropertyList) {
        name = reply["name"]?.string
        model = reply["model"]?.string
        deviceID = reply["deviceID"]?.string
        sourceVersion = reply["sourceVersion"]?.string
        features = reply["features"]?.uint64.map { FeatureBits(rawValue: $0) }
        statusFlags = reply["statusFlags"]?.uint64.map { StatusFlags(rawValue: $0) }
        initialVolume = reply["initialVolume"]?.double
        senderAddress = reply["senderAddress"]?.string
        func formats(_ key: String) -> Set<Int>? {
            if let bits = reply["supportedAudioFormatsExtended"]?[key]?.array {
                return Set(bits.compactMap { $0.integer(Int.self) })
            }
            guard let mask = reply["supportedFormats"]?[key]?.uint64 else { return nil }
            return Set((0..<64).filter { mask >> UInt64($0) & 1 == 1 })
        }
        bufferedFormats = formats("bufferStream")
        realtimeFormats = formats("audioStream")
    }
}

/// The reply to the first SETUP.
package struct SessionSetup: Hashable, Sendable {
    /// TCP; connect to it before RECORD. Nil for a receiver that has no news to tell.
    package let eventPort: UInt16?
    /// Every address under which the receiver may speak PTP.
    package let peerAddresses: [String]

    package init(_ reply: PropertyList) throws(WireError) {
        let named = reply["eventPort"]
        guard reply.dictionary != nil, let port = named.map({ $0.integer(UInt16.self) }) ?? 0 else {
            throw .malformed("The speaker answered SETUP with a port for events that is none.")
        }
        eventPort = port == 0 ? nil : port
        // As many as a device with several networks may have; more would be somebody's joke.
        peerAddresses = (reply["timingPeerInfo"]?["Addresses"]?.array ?? []).prefix(16).compactMap { $0.string }
    }
}

/// The reply to the second SETUP.
package struct StreamSetup: Hashable, Sendable {
    /// UDP for realtime, TCP for buffered streams.
    package let dataPort: UInt16
    /// UDP; where sync packets go.
    package let controlPort: UInt16?
    /// Bytes a buffered receiver holds.
    package let bufferSize: Int?
    /// Names the stream in TEARDOWN.
    package let streamID: Int64?
    /// Shortest time from arrival to sound; a bound for the queue's depth, never part of the schedule.
    package let arrivalToRender: Duration?

    package init(_ reply: PropertyList) throws(WireError) {
        guard let stream = reply["streams"]?.array?.first else {
            throw .malformed("The speaker answered SETUP without a stream.")
        }
        let connections = stream["streamConnections"]
        func port(_ key: String, _ connection: String) -> UInt16? {
            let nested = connections?[connection]?["streamConnectionKeyPort"]
            return (stream[key] ?? nested)?.integer(UInt16.self)
        }
        guard let data = port("dataPort", "streamConnectionTypeRTP"), data != 0 else {
            throw .malformed("The speaker answered SETUP without a port for sound.")
        }
        dataPort = data
        controlPort = port("controlPort", "streamConnectionTypeRTCP")
        bufferSize = stream["audioBufferSize"]?.integer(Int.self).flatMap { $0 > 0 ? $0 : nil }
        streamID = stream["streamID"]?.int64
        let latency = stream["arrivalToRenderLatencyMs"]?.integer(Int.self)
        arrivalToRender = latency.flatMap { (0...10_000).contains($0) ? .milliseconds($0) : nil }
    }
}
