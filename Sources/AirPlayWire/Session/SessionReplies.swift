/// A receiver's response to `/info`.
package struct ReceiverInfo: Hashable, Sendable {
    package let name: String?
    package let model: String?
    package let manufacturer: String?
    package let deviceID: String?
    package let sourceVersion: String?
    package let features: FeatureBits?
    package let statusFlags: StatusFlags?
    /// The record of its `_airplay._tcp` service.
    package let announcement: TXTRecord?
    /// In dB; −144 means muted.
    package let initialVolume: Double?
    /// Values of `StreamFormat.bit` supported for buffered streams; nil if not specified.
    package let bufferedFormats: Set<Int>?
    /// Values of `StreamFormat.bit` supported for realtime streams; nil if not specified.
    let realtimeFormats: Set<Int>?
    /// The address of this computer as seen by the receiver.
    package let senderAddress: String?
    /// From the instant at which the receiver outputs a sample until it is audible, as it states itself
    /// (`audioLatencies`); nil if it states none, or more than two seconds.
    package let outputLatency: Duration?

    /// The maximum length of a text in bytes, that of a string in a TXT record (RFC 6763, section 6.1).
    private static let textLimit = 255

    package init(_ reply: PropertyList) {
        func text(_ key: String) -> String? {
            reply[key]?.string.map { String(decoding: $0.utf8.prefix(Self.textLimit), as: UTF8.self) }
        }
        name = text("name")
        model = text("model")
        manufacturer = text("manufacturer")
        deviceID = text("deviceID")
        sourceVersion = text("sourceVersion")
        features = reply["features"]?.uint64.map { FeatureBits(rawValue: $0) }
        statusFlags = reply["statusFlags"]?.uint64.map { StatusFlags(rawValue: $0) }
        // ignored: a record that is too long counts as none.
        announcement = reply["txtAirPlay"]?.data.flatMap { try? TXTRecord(wire: $0) }
        initialVolume = reply["initialVolume"]?.double
        senderAddress = text("senderAddress")
        // 16 suffice: one for each type of stream and kind of audio.
        let latencies = (reply["audioLatencies"]?.array ?? []).prefix(16)
        let media = ["media", "default"].lazy.compactMap { kind in latencies.first { $0["audioType"]?.string == kind } }
        let micros = (media.first ?? latencies.first)?["outputLatencyMicros"]?.integer(Int.self)
        outputLatency = micros.flatMap { (0...2_000_000).contains($0) ? .microseconds($0) : nil }
        // 32 suffice: one for each type of stream and kind of audio.
        let listed = (reply["audioFormats"]?.array ?? []).prefix(32)
        func formats(_ key: String, listedAs type: Int64) -> Set<Int>? {
            if let bits = reply["supportedAudioFormatsExtended"]?[key]?.array {
                return Set(bits.compactMap { $0.integer(Int.self) })
            }
            // Receivers without `supportedFormats` list types of streams with what they accept and what they send.
            let masks =
                (reply["supportedFormats"]?[key]?.uint64).map { [$0] }
                ?? listed.filter { $0["type"]?.int64 == type }.compactMap { $0["audioOutputFormats"]?.uint64 }
            guard !masks.isEmpty else { return nil }
            let mask = masks.reduce(0, |)
            return Set((0..<64).filter { mask >> UInt64($0) & 1 == 1 })
        }
        bufferedFormats = formats("bufferStream", listedAs: 101)
        realtimeFormats = formats("audioStream", listedAs: 100)
    }
}

/// The response to the first SETUP.
package struct SessionSetup: Hashable, Sendable {
    /// TCP port of the event channel, to connect to before RECORD; nil if the receiver has none.
    package let eventPort: UInt16?
    /// The addresses from which the receiver may send PTP.
    let peerAddresses: [String]

    /// - Throws: `malformed` if the port is invalid.
    package init(_ reply: PropertyList) throws(WireError) {
        let named = reply["eventPort"]
        guard reply.dictionary != nil, let port = named.map({ $0.integer(UInt16.self) }) ?? 0 else {
            throw .malformed("The speaker answered SETUP with an invalid event port.")
        }
        eventPort = port == 0 ? nil : port
        // 16 suffice for a device on several networks, and bound the memory.
        peerAddresses = (reply["timingPeerInfo"]?["Addresses"]?.array ?? []).prefix(16).compactMap { $0.string }
    }
}

/// The response to the second SETUP.
package struct StreamSetup: Hashable, Sendable {
    /// UDP port for realtime streams, TCP port for buffered ones.
    package let dataPort: UInt16
    /// UDP port for sync packets.
    package let controlPort: UInt16?
    /// Buffer size of a buffered receiver in bytes.
    package let bufferSize: Int?
    /// Identifies the stream in TEARDOWN.
    let streamID: Int64?
    /// Minimum time from arrival to rendering. It bounds the queue depth and is no delay of the sound: the receiver
    /// plays a sample at the instant that the anchor names.
    package let arrivalToRender: Duration?

    /// - Throws: `malformed` if there is no stream or no data port.
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
            throw .malformed("The speaker answered SETUP without an audio port.")
        }
        dataPort = data
        controlPort = port("controlPort", "streamConnectionTypeRTCP")
        bufferSize = stream["audioBufferSize"]?.integer(Int.self).flatMap { $0 > 0 ? $0 : nil }
        streamID = stream["streamID"]?.int64
        let latency = stream["arrivalToRenderLatencyMs"]?.integer(Int.self)
        arrivalToRender = latency.flatMap { (0...10_000).contains($0) ? .milliseconds($0) : nil }
    }
}

extension StreamFormat {
    /// Whether a receiver lists it for buffered streams.
    package func isOffered(by info: ReceiverInfo) -> Bool { info.bufferedFormats?.contains(bit) == true }
}
