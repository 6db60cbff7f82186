package import AirPlayWire
package import MediaCore
internal import PTP
package import Sockets

/// How a speaker in software presents itself and behaves.
package struct SpeakerConfiguration: Sendable {
    /// Where the sound goes.
    package enum Output: Hashable, Sendable {
        /// Nowhere; the record tells what would be heard.
        case none
        /// A recording, 16-bit stereo, with its times in a JSON file beside it. Each further stream gets a file of
        /// its own: `name-2.wav`.
        case file(path: String)
        /// A sound card, by ALSA's name for it; it must take stereo at the stream's rate.
        case card(device: String)
    }

    /// Whether PTP timing is offered, which takes UDP ports 319 and 320 on the speaker's address.
    package enum ClockPolicy: Hashable, Sendable {
        /// Without the ports the speaker does not start.
        case required
        /// Without the ports only NTP timing is offered.
        case ifPermitted
        /// NTP timing only.
        case never
    }

    /// Shown to people.
    package var name: String
    /// The local address everything is bound to. An address of its own lets a sender run on the same computer.
    package var address: IPv4Address
    /// TCP port of the requests; 0 for one that the system chooses.
    package var port: UInt16
    package var output: Output
    /// Where the record is written as JSON lines too.
    package var journal: String?
    package var clock: ClockPolicy
    /// UDP ports of PTP; tests that may not bind 319 and 320 take others.
    package var ptpPorts: (event: UInt16, general: UInt16)
    package var admission: PairSetupResponder.Admission
    /// Whether it is announced by mDNS, where there is an avahi-daemon.
    package var isAnnounced: Bool
    /// Loudness at the start in dB; −144 is mute.
    package var volume: Double
    package var quirks: SpeakerQuirks
    /// Where its key and the senders it was paired with outlive it; nil forgets both with the speaker.
    package var memory: (any SpeakerMemory)?
    /// For tests that let the sender sleep on the same computer: its clock, whose suspensions the speaker lives through
    /// awake.
    package var senderClock: (any HostClock)?

    package init(
        name: String = "Talkie", address: IPv4Address = IPv4Address(rawValue: 0x7F00_0002), port: UInt16 = 7000,
        output: Output = .none, journal: String? = nil, clock: ClockPolicy = .ifPermitted,
        ptpPorts: (event: UInt16, general: UInt16) = (319, 320), admission: PairSetupResponder.Admission = .open,
        isAnnounced: Bool = false, volume: Double = 0, quirks: SpeakerQuirks = SpeakerQuirks()
    ) {
        self.name = name
        self.address = address
        self.port = port
        self.output = output
        self.journal = journal
        self.clock = clock
        self.ptpPorts = ptpPorts
        self.admission = admission
        self.isAnnounced = isAnnounced
        self.volume = volume
        self.quirks = quirks
    }
}

/// What a speaker that pairs by PIN knows from run to run.
package struct SpeakerKeepsake: Hashable, Sendable {
    /// 32 bytes: the seed of its Ed25519 key. A secret.
    package var seed: [UInt8]
    /// Who may verify without a PIN, in the order of their pairing.
    package var senders: [PairedAccessory]

    package init(seed: [UInt8], senders: [PairedAccessory] = []) {
        self.seed = seed
        self.senders = senders
    }
}

/// Where a speaker keeps what it knows. May block on the disk; called by one thread at a time.
package protocol SpeakerMemory: Sendable {
    /// What was kept last; nil when there is nothing, with a sentence for people when there was something.
    func recall() -> (keepsake: SpeakerKeepsake?, note: String?)
    /// Keeps it for good; a sentence when that fails.
    func keep(_ keepsake: SpeakerKeepsake) -> String?
}

/// What follows from the configuration and stays the same for the speaker's life.
struct SpeakerIdentity: Sendable {
    /// shairport-sync's size (measured); what a HomePod has is not known.
    static let usualBufferSize = 8 << 20
    /// A source version that is late enough for buffered streams and PTP (366.0, as shairport-sync says).
    static let sourceVersion = "366.0"

    /// Six bytes, made from the name: locally administered (IEEE 802, bit 1 of the first byte).
    let deviceID: String
    /// The same as a clock identity (EUI-64: FF FE in the middle; IEEE 1588-2008, section 7.5.2.2.2).
    let clock: UInt64
    let publicID: String
    let pairing: PairingIdentity

    /// - Parameter seed: of the key that senders know; nil, or one of another length, makes a new one.
    init(name: String, seed: [UInt8]? = nil) {
        // FNV-1a, 64 bits: the same name is the same device, in every run.
        let hash = name.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        func hex(_ value: UInt64, _ digits: Int) -> String {
            let text = String(value, radix: 16, uppercase: true)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        let address = (hash & 0xFCFF_FFFF_FFFF) | 0x0200_0000_0000
        deviceID = (0..<6).map { hex(address >> UInt64(40 - 8 * $0) & 0xFF, 2) }.joined(separator: ":")
        clock = (address >> 24) << 40 | 0xFFFE << 24 | address & 0xFF_FFFF
        let second = hash &* 0x9E37_79B9_7F4A_7C15
        let publicID =
            "\(hex(hash >> 32, 8))-\(hex(hash >> 16 & 0xFFFF, 4))-4\(hex(hash & 0xFFF, 3))-"
            + "8\(hex(second & 0xFFF, 3))-\(hex(second >> 16, 12))"
        pairing =
            seed.flatMap { $0.count == 32 ? PairingIdentity(identifier: publicID, seed: SecretBytes($0)) : nil }
            ?? PairingIdentity.generate(identifier: publicID)
        self.publicID = publicID
    }

    /// A host name of its own, without the domain.
    var hostName: String { "talkie-" + deviceID.filter { $0 != ":" }.lowercased() }

    static func features(offersPTP: Bool, admission: PairSetupResponder.Admission) -> FeatureBits {
        var features: FeatureBits = [
            .audio, .progress, .textMetadata, .unifiedMediaControl, .ntp, .homeKitPairing, .transientPairing,
        ]
        if offersPTP { features.formUnion([.ptp, .bufferedAudio, .extendedPeers]) }
        if case .pin = admission { features.remove(.transientPairing) }
        return features
    }
}
