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

    init(key: String, name: String, title: String) {
        self.key = key
        self.name = name
        self.title = title.isEmpty ? name : title
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
