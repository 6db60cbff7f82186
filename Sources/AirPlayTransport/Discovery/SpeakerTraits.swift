package import AirPlayWire
internal import MediaCore

/// What a receiver announces about itself, or reports at `/info`.
///
/// Nil means unknown, not absent: announcements omit values that they stated before.
package struct SpeakerTraits: Hashable, Sendable {
    package var model: String?
    package var manufacturer: String?
    package var features: FeatureBits?
    package var status: StatusFlags?
    /// The AirPlay version, `srcvers`.
    package var sourceVersion: String?
    /// The operating system version, `osvers`.
    package var systemVersion: String?
    /// The receiver's Ed25519 key, 32 bytes. Useless for authentication, since any device can announce it.
    package var publicKey: [UInt8]?
    /// `acl`: 0: any device on the network; 1: only members of the owner's home.
    package var accessControl: Int?
    /// `act`: 2: only the current user.
    package var accessControlType: Int?
    /// `pw`.
    package var announcesPassword: Bool?
    package var group = GroupHints()
    /// What a `_raop._tcp` record states besides.
    package var classic: ClassicTraits?

    package init() {}

    /// Reads the `_airplay._tcp` record, or a `_raop._tcp` record with its other keys for the same values.
    package init(_ record: TXTRecord) {
        model = Self.text(record["model"] ?? record["am"])
        manufacturer = Self.text(record["manufacturer"])
        features = record.features
        status = record.statusFlags
        sourceVersion = Self.text(record["srcvers"] ?? record["vs"])
        systemVersion = Self.text(record["osvers"] ?? record["ov"])
        publicKey = record["pk"].flatMap { Hexadecimal.bytes($0) }.flatMap { $0.count == 32 ? $0 : nil }
        accessControl = record["acl"].flatMap { Int($0) }
        accessControlType = record["act"].flatMap { Int($0) }
        announcesPassword = record["pw"].map { Self.isTrue($0) }
        group = GroupHints(record)
        classic = ClassicTraits(record)
    }

    /// Returns the traits updated by `/info`, which is more recent; values missing there are kept. Its copy of the
    /// announcement completes them.
    package func updated(by info: ReceiverInfo) -> SpeakerTraits {
        var traits = self
        if let record = info.announcement {
            let announced = SpeakerTraits(record)
            traits = completed(by: announced)
            traits.accessControl = accessControl ?? announced.accessControl
            traits.accessControlType = accessControlType ?? announced.accessControlType
            if group.isEmpty { traits.group = announced.group }
        }
        traits.manufacturer = traits.manufacturer ?? Self.text(info.manufacturer)
        traits.model = Self.text(info.model) ?? traits.model
        traits.features = info.features ?? traits.features
        traits.status = info.statusFlags ?? traits.status
        traits.sourceVersion = Self.text(info.sourceVersion) ?? traits.sourceVersion
        return traits
    }

    /// Returns the traits completed by another service of the same receiver.
    package func completed(by other: SpeakerTraits) -> SpeakerTraits {
        var traits = self
        traits.model = model ?? other.model
        traits.manufacturer = manufacturer ?? other.manufacturer
        traits.features = features ?? other.features
        traits.status = status ?? other.status
        traits.sourceVersion = sourceVersion ?? other.sourceVersion
        traits.systemVersion = systemVersion ?? other.systemVersion
        traits.publicKey = publicKey ?? other.publicKey
        traits.announcesPassword = announcesPassword ?? other.announcesPassword
        traits.classic = classic ?? other.classic
        return traits
    }

    package var isHomePod: Bool { model?.hasPrefix("AudioAccessory") ?? false }
    package var isAppleTV: Bool { model?.hasPrefix("AppleTV") ?? false }
    package var isAirPortExpress: Bool { model?.hasPrefix("AirPort") ?? false }
    /// Whether it is a Mac.
    package var isMac: Bool { ["Mac", "iMac"].contains { model?.hasPrefix($0) ?? false } }
    /// Whether it displays video. Third-party televisions state that by their features only.
    package var isTelevision: Bool { isAppleTV || !isMac && features?.isDisjoint(with: .video) == false }
    /// Whether Apple made it, by the prefix of its model name.
    package var isApple: Bool {
        isHomePod || isAppleTV || isAirPortExpress || isMac
            || ["iPhone", "iPad", "iPod"].contains { model?.hasPrefix($0) ?? false }
    }
    package var isShairportSync: Bool { model?.lowercased().hasPrefix("shairport") ?? false }
    package var isSonos: Bool { manufacturer?.lowercased().hasPrefix("sonos") ?? false }

    /// Whether it requires a password.
    package var needsPassword: Bool { announcesPassword == true || status?.contains(.passwordRequired) == true }
    /// Whether it requires pairing by PIN.
    package var needsPIN: Bool {
        status?.contains(.pinRequired) == true || status?.contains(.pairingRequired) == true
    }
    /// Whether it accepts only members of the owner's home.
    package var isRestrictedToHome: Bool { accessControl == 1 || accessControlType == 2 }

    private static func text(_ text: String?) -> String? {
        text.flatMap { $0.isEmpty ? nil : PrintableText.of($0) }
    }

    private static func isTrue(_ text: String) -> Bool { ["true", "1", "yes"].contains(text.lowercased()) }
}

/// The groups of a receiver, as far as announced.
package struct GroupHints: Hashable, Sendable {
    /// `gid`: the playback group; changes while a sender plays.
    package var group: String?
    /// `pgid`: the group of the Apple TV or home theatre whose default output it is.
    package var parentGroup: String?
    /// `tsid`: the stereo pair, shared by both members.
    package var stereoPair: String?
    /// `gpn`: the display name of the group.
    package var name: String?
    /// `igl`: whether this receiver leads its group.
    package var isLeader: Bool?
    /// `gcgl`: whether the group contains a discoverable leader.
    package var containsLeader: Bool?

    package init() {}

    package init(_ record: TXTRecord) {
        func text(_ key: String) -> String? { record[key].flatMap { $0.isEmpty ? nil : PrintableText.of($0) } }
        func flag(_ key: String) -> Bool? { record[key].map { $0 == "1" || $0.lowercased() == "true" } }
        group = text("gid")
        parentGroup = text("pgid")
        stereoPair = text("tsid")
        name = text("gpn")
        isLeader = flag("igl")
        containsLeader = flag("gcgl")
    }

    /// Whether it belongs to a stereo pair, or to an Apple TV or home theatre.
    package var isGrouped: Bool { parentGroup != nil || stereoPair != nil }

    /// Whether there is no hint at all. An empty announcement does not describe groups; otherwise it is complete.
    package var isEmpty: Bool { self == GroupHints() }
}

/// What a receiver of classic AirPlay announces about its streams. Absent keys are nil: early receivers omit them.
package struct ClassicTraits: Hashable, Sendable {
    /// `et`: 0 none, 1 RSA and AES, 3 and 5 FairPlay, 4 `/auth-setup` first.
    package var encryptions: Set<Int>?
    /// `cn`: 0 PCM, 1 ALAC, 2 AAC, 3 AAC-ELD.
    package var codecs: Set<Int>?
    /// `md`: 0 text, 1 artwork, 2 progress.
    package var metadata: Set<Int>?
    /// `tp`: whether the stream can use UDP.
    package var hasUDP: Bool?
    /// `ek`: whether the key of the first AirPort Express is required.
    package var needsKey: Bool

    /// Reads a record; nil if it has no key of classic AirPlay.
    init?(_ record: TXTRecord) {
        func numbers(_ key: String) -> Set<Int>? {
            record[key].map { Set($0.split(separator: ",").prefix(16).compactMap { Int($0) }) }
        }
        encryptions = numbers("et")
        codecs = numbers("cn")
        metadata = numbers("md")
        hasUDP = record["tp"].map { $0.uppercased().split(separator: ",").contains("UDP") }
        needsKey = record["ek"] == "1"
        guard encryptions != nil || codecs != nil || hasUDP != nil else { return nil }
    }
}
