internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import Sockets
internal import SyncRendering

/// The encryption of one stream.
struct StreamSecurity: Sendable {
    /// The key and the initialization vector of AES-128; both are sent in the session description.
    let key: [UInt8]
    let vector: [UInt8]

    /// Returns random values.
    static func random() -> StreamSecurity {
        func bytes() -> [UInt8] { (0..<16).map { _ in UInt8.random(in: 0 ... .max) } }
        return StreamSecurity(key: bytes(), vector: bytes())
    }
}

/// The session description of ANNOUNCE (RFC 8866).
struct SessionDescription {
    var session: UInt32
    var local: NetworkAddress
    var remote: NetworkAddress
    var format: StreamFormat
    /// Nil: the stream is not encrypted.
    var security: StreamSecurity?

    /// The body; nil if the key cannot be encrypted.
    var body: [UInt8]? {
        // RFC 8866, sections 5.2 and 5.7.
        func network(_ address: NetworkAddress) -> String { "IN IP\(address.isIPv4 ? 4 : 6) \(address.literal)" }
        var lines = [
            "v=0", "o=iTunes \(session) 0 \(network(local))", "s=iTunes", "c=\(network(remote))", "t=0 0",
            "m=audio 0 RTP/AVP 96", "a=rtpmap:96 AppleLossless",
            // Frames per packet, version, bits, Rice parameters 40 10 14, channels, maximum run, sizes unknown, rate.
            "a=fmtp:96 \(format.framesPerPacket) 0 \(format.bitsPerSample) 40 10 14 \(format.channels) 255 0 0 "
                + "\(format.sampleRate)",
        ]
        if let security {
            guard let key = AirPortKey.encrypt(security.key) else { return nil }
            lines += ["a=rsaaeskey:\(Base64.text(key))", "a=aesiv:\(Base64.text(security.vector))"]
        }
        return Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
    }
}

/// Makes the packets of a stream: RTP header and one ALAC frame, whose whole blocks may be encrypted.
struct ClassicPacketizer: StreamPacketizer {
    private(set) var nextSequence: UInt16
    private let source: UInt32
    private let cipher: LegacyCryptography.Cipher?

    /// - Parameters:
    ///   - source: The SSRC, constant for the stream.
    ///   - cipher: Nil: not encrypted.
    init(firstSequence: UInt16, source: UInt32, cipher: LegacyCryptography.Cipher?) {
        (nextSequence, self.source, self.cipher) = (firstSequence, source, cipher)
    }

    mutating func append(
        _ audio: UnsafeBufferPointer<UInt8>, timestamp: RTPTimestamp, marked: Bool, to out: inout [UInt8]
    ) {
        out.append(0x80)
        // Payload type 96 with RTP's marker bit (RFC 3550, section 5.1).
        out.append(marked ? 0xE0 : 0x60)
        for number in [UInt32(nextSequence) << 16, timestamp.rawValue, source].enumerated() {
            // The sequence number has two bytes.
            for shift in number.offset == 0 ? [24, 16] : [24, 16, 8, 0] {
                out.append(UInt8(truncatingIfNeeded: number.element >> UInt32(shift)))
            }
        }
        let start = out.count
        out.append(contentsOf: audio)
        cipher?.encrypt(&out, from: start)
        nextSequence &+= 1
    }
}

/// The untrusted response to SETUP.
struct ClassicSetup: Hashable, Sendable {
    /// The value of `Session` for later requests.
    let session: String?
    let dataPort: UInt16
    let controlPort: UInt16

    /// Reads the headers; nil without a data port. A receiver without control port gets sync packets at the data port.
    init?(_ headers: RTSPHeaders) {
        var ports: [String: UInt16] = [:]
        for part in (headers["Transport"] ?? "").prefix(512).split(separator: ";") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, let port = UInt16(pair[1].filter { $0 != " " }), port != 0 else { continue }
            ports[pair[0].filter { $0 != " " }.lowercased()] = port
        }
        guard let data = ports["server_port"] else { return nil }
        dataPort = data
        controlPort = ports["control_port"] ?? data
        session = headers["Session"].map { String($0.prefix(128).prefix { $0 != ";" }) }
    }
}

/// The delay of a stream as the protocol states it.
struct ClassicLatency: Hashable, Sendable {
    /// Frames from the timestamp of a sync packet to that of the packet sent with it: two seconds.
    private static let stream: Int64 = 88200
    /// Frames that receivers add if bytes 2 and 3 of sync packets are 00 07.
    private static let added: Int64 = 11025
    /// No receiver reports more; a larger value is not displayed.
    private static let maxReported: Int64 = 441_000

    /// `Audio-Latency` of RECORD or SETUP, in frames; nil if not reported.
    private(set) var reported: Int64?

    /// How long before it is heard each packet is sent.
    static let depth = duration(stream + added)

    init() {}

    /// Reads an untrusted header.
    init(_ text: String?) {
        reported = text.flatMap { Int64($0) }.flatMap { (0...Self.maxReported).contains($0) ? $0 : nil }
    }

    private static func duration(_ frames: Int64) -> Duration { .nanoseconds(frames * 1_000_000_000 / 44100) }

    /// The components of the delay. Their sum is zero: sync packets name the instant at which a frame is heard, so the
    /// receiver itself subtracts them.
    var shares: [LatencyShare] {
        let output = Self.duration(reported ?? Self.added)
        let stream = Self.duration(Self.stream)
        return [
            LatencyShare(name: "speaker buffer", duration: stream, source: .assumed),
            LatencyShare(name: "speaker output", duration: output, source: reported == nil ? .assumed : .reported),
            LatencyShare(name: "speaker's correction", duration: .zero - stream - output, source: .assumed),
        ]
    }
}
