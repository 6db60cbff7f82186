/// Where the sound of a card is really heard: a loudspeaker's end of a sound card, a sink of a sound server, a headset.
///
/// ALSA's names do not say it: behind `default` and `pulse` a sound server chooses, and changes its mind.
public struct SoundSink: Sendable, Hashable {
    /// The same from one day to the next, for the same sink and no other: 64 letters, digits, `-`, `_` and `.` at most.
    public let key: String
    /// As its owner, the sound server or ALSA, names it.
    public let name: String
    /// For people: `USB Headset Analog Stereo`.
    public let title: String

    init(key: String, name: String, title: String) {
        self.key = key
        self.name = name
        self.title = title.isEmpty ? name : title
    }

    /// A card of this computer that plays without a sound server.
    ///
    /// - Parameter id: the card's own identifier, which stays where numbers change.
    static func hardware(id: String, device: Int, title: String) -> SoundSink {
        SoundSink(key: key("hw", "\(id)-\(device)"), name: "hw:CARD=\(id),DEV=\(device)", title: title)
    }

    /// A kind, as much of a name as fits, and where that is not all of it a number for the whole.
    static func key(_ kind: String, _ name: String) -> String {
        let isPlain = { (byte: UInt8) -> Bool in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == 0x2D || byte == 0x5F || byte == 0x2E
        }
        let mostBytes = 36
        let start = String(
            decoding: name.utf8.prefix(mostBytes).map { isPlain($0) ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
        guard start != name else { return "\(kind)-\(name)" }
        // FNV-1a with 64 bits (RFC 9923).
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return "\(kind)-\(start)-\(String(hash, radix: 16))"
    }
}

/// What is known of the sink that a card's sound goes to.
public enum SinkKnowledge: Sendable, Hashable {
    case known(SoundSink)
    /// Nobody says. The words are the end of a sentence: "the sound server does not answer".
    case unknown(String)

    static let noServer = SinkKnowledge.unknown("the sound server does not answer")

    public var sink: SoundSink? { if case .known(let sink) = self { sink } else { nil } }
}
