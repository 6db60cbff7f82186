package import AirPlayWire
package import MediaCore
internal import PTP
package import Sockets

/// The properties and behaviour of a software speaker.
package struct SpeakerConfiguration: Sendable {
    /// The destination of the audio.
    package enum Output: Hashable, Sendable {
        /// None; only the record contains what would be audible.
        case none
        /// A 16-bit stereo recording with its times in a JSON file next to it. Each further stream
        /// gets its own file: `name-2.wav`.
        case file(path: String)
        /// A sound card by its ALSA name; it must accept stereo at the stream's rate.
        case card(device: String)
    }

    /// Whether PTP timing is offered. It needs UDP ports 319 and 320 on the speaker's address.
    package enum ClockPolicy: Hashable, Sendable {
        /// The speaker does not start without the ports.
        case required
        /// Without the ports only NTP timing is offered.
        case ifPermitted
        /// NTP timing only.
        case never
    }

    /// The displayed name.
    package var name: String
    /// The local address of all sockets. A separate address allows a sender on the same computer.
    package var address: NetworkAddress
    /// The TCP port for control connections; 0: the system chooses.
    package var port: UInt16
    /// The destination of the audio.
    package var output: Output
    /// The path of a JSON-lines copy of the record; nil: none.
    package var journal: String?
    /// Whether PTP timing is offered.
    package var clock: ClockPolicy
    /// The UDP ports of PTP; tests without permission for 319 and 320 use others.
    var ptpPorts: (event: UInt16, general: UInt16)
    /// Which senders may pair, and with what secret.
    package var admission: PairSetupResponder.Admission
    /// Whether the speaker is announced by mDNS; needs a running avahi-daemon.
    package var isAnnounced: Bool
    /// The initial volume in dB; −144 is mute.
    package var volume: Double
    /// The simulated faults.
    package var quirks: SpeakerQuirks
    /// Whether the speaker knows only classic AirPlay (RAOP), without encryption.
    package var isClassic = false
    /// The storage for the speaker's key and paired senders; nil: both last as long as the speaker.
    package var memory: (any SpeakerMemory)?
    /// For tests that suspend the sender on the same computer: the sender's clock. The speaker itself is not suspended.
    package var senderClock: (any HostClock)?

    /// Creates a configuration; the defaults give an open speaker on 127.0.0.2 that discards its audio.
    package init(
        name: String = "Talkie", address: NetworkAddress = NetworkAddress(ipv4: 0x7F00_0002), port: UInt16 = 7000,
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

/// The persistent state of a speaker that pairs by PIN.
package struct SpeakerKeepsake: Hashable, Sendable {
    /// The 32-byte seed of its Ed25519 key. Secret.
    package var seed: [UInt8]
    /// The senders that may verify without a PIN, in order of pairing.
    package var senders: [PairedAccessory]

    package init(seed: [UInt8], senders: [PairedAccessory] = []) {
        self.seed = seed
        self.senders = senders
    }
}

/// The storage of a speaker's persistent state. May block on the disk; called by one thread at a time.
package protocol SpeakerMemory: Sendable {
    /// Returns the stored state; nil if there is none, with a message for the user if it was unreadable.
    func recall() -> (keepsake: SpeakerKeepsake?, note: String?)
    /// Stores the state. Returns a message for the user on failure.
    func save(_ keepsake: SpeakerKeepsake) -> String?
}

/// The identity of a speaker: derived from its configuration, constant for its lifetime.
struct SpeakerIdentity: Sendable {
    /// Buffer size in bytes of shairport-sync (measured); that of a HomePod is unknown.
    static let usualBufferSize = 8 << 20
    /// The version from which senders use buffered streams and PTP (366.0, as in shairport-sync).
    static let sourceVersion = "366.0"

    /// A six-byte address derived from the name, locally administered (IEEE 802, bit 1 of the first byte).
    let deviceID: String
    /// The same address as a clock identity (EUI-64: FF FE in the middle; IEEE 1588-2008, section 7.5.2.2.2).
    let clock: UInt64
    let publicID: String
    let pairing: PairingIdentity

    /// - Parameter seed: The 32-byte seed of the stored key; nil or another length: generates a new key.
    init(name: String, seed: [UInt8]? = nil) {
        // FNV-1a, 64 bits: the same name gives the same device in every run.
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

    /// The mDNS host name, without the domain.
    var hostName: String { "talkie-" + deviceID.filter { $0 != ":" }.lowercased() }

    static func features(offersPTP: Bool, admission: PairSetupResponder.Admission) -> FeatureBits {
        var features: FeatureBits = [
            .audio, .artwork, .progress, .textMetadata, .unifiedMediaControl, .ntp, .homeKitPairing, .transientPairing,
        ]
        if offersPTP { features.formUnion([.ptp, .bufferedAudio, .extendedPeers]) }
        if case .pin = admission { features.remove(.transientPairing) }
        return features
    }
}
