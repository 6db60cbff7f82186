/// The destination of a card's audio: an output of a sound card, a sink of a sound server, or a headset.
///
/// ALSA names do not identify it: a sound server selects the sink of `default` and `pulse`, and may change it.
public struct AudioSink: Sendable, Hashable {
    /// A persistent, unique key: at most 64 letters, digits, `-`, `_` and `.`.
    package let key: String
    /// The name in the sound server or ALSA.
    package let name: String
    /// The user-facing name: `USB Headset Analog Stereo`.
    package let title: String
    /// Set for Bluetooth devices.
    let bluetooth: Bluetooth?
    /// The delay that the desktop keeps for the port, included in the reported delay; nil without a sound server.
    package let portOffset: Duration?

    init(key: String, name: String, title: String, bluetooth: Bluetooth? = nil, portOffset: Duration? = nil) {
        self.key = key
        self.name = name
        self.title = title.isEmpty ? name : title
        self.bluetooth = bluetooth
        self.portOffset = portOffset
    }

    /// How a Bluetooth device receives audio.
    struct Bluetooth: Sendable, Hashable {
        /// In lower case; nil if the server states none.
        var codec: String?
        /// Whether the server is PipeWire; otherwise PulseAudio.
        var isPipeWire: Bool

        /// Returns whether a delay is the server's constant, not a report of the device (AVDTP 1.3, delay reporting).
        ///
        /// PipeWire's `spa_bt_transport_get_delay_nsec` returns one by the codec: 125 ms for SBC, AAC, aptX and LDAC,
        /// 40 ms for aptX LL and LC3, 20 ms for CVSD and mSBC; before version 1.0 200 ms for SBC and AAC, 175 ms for
        /// LDAC, 150 ms for aptX and others. To it are added the packets and at most one cycle of the graph. PulseAudio
        /// 16 always adds 25 ms; no device has less than 100 ms with its codecs. A device that truthfully reports such
        /// a delay is not distinguished.
        ///
        /// - Parameter delay: From the device's queue to the listener, without the port's offset.
        func isConstant(_ delay: Duration) -> Bool {
            guard isPipeWire else { return delay < .milliseconds(100) }
            let constants: [Int] =
                switch codec {
                case "aptx_ll", "aptx_ll_duplex", "faststream", "faststream_duplex", "lc3", "lc3_swb", "lc3plus_h3":
                    [40, 150]
                case "cvsd", "msbc": [20, 30]
                case "sbc", "sbc_xq", "aac", "mpeg": [125, 200]
                case "aptx", "aptx_hd": [125, 150]
                case "ldac": [125, 175]
                default: [20, 30, 40, 125, 150]
                }
            return constants.contains {
                (Duration.milliseconds($0) - .milliseconds(1)...Duration.milliseconds($0) + Self.maxAddition)
                    .contains(delay)
            }
        }

        /// The packets of a codec, and a cycle of 1024 frames.
        private static let maxAddition = Duration.milliseconds(24)
    }

    /// Returns the sink of a card that plays without a sound server.
    ///
    /// - Parameter id: The card's identifier, which persists while card numbers change.
    static func hardware(id: String, device: Int, title: String) -> AudioSink {
        AudioSink(key: key("hw", "\(id)-\(device)"), name: "hw:CARD=\(id),DEV=\(device)", title: title)
    }

    /// Returns the kind, the start of the name, and a hash of the name if it was shortened or changed.
    static func key(_ kind: String, _ name: String) -> String {
        let isPlain = { (byte: UInt8) -> Bool in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x2D || byte == 0x5F || byte == 0x2E
        }
        let maxBytes = 36
        let start = String(
            decoding: name.utf8.prefix(maxBytes).map { isPlain($0) ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
        guard start != name else { return "\(kind)-\(name)" }
        // FNV-1a with 64 bits (RFC 9923).
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return "\(kind)-\(start)-\(String(hash, radix: 16))"
    }
}

/// The knowledge about the destination of a card's audio.
public enum SinkKnowledge: Sendable, Hashable {
    /// The sink is known.
    case known(AudioSink)
    /// The sink is unknown. The text completes a sentence: "the sound server does not answer".
    case unknown(String)

    static let noServer = SinkKnowledge.unknown("the sound server does not answer")

    /// The sink; nil if unknown.
    package var sink: AudioSink? { if case .known(let sink) = self { sink } else { nil } }
}
