package import AirPlayWire
internal import MediaCore

/// What a receiver says about itself, in its announcements or at `/info`.
///
/// A missing value is "no news", not "no": announcements leave out what they said before.
package struct SpeakerTraits: Hashable, Sendable {
    package var model: String?
    package var manufacturer: String?
    package var features: FeatureBits?
    package var status: StatusFlags?
    /// AirPlay version, `srcvers`.
    package var sourceVersion: String?
    /// `osvers`.
    package var systemVersion: String?
    /// The receiver's Ed25519 key, 32 bytes; of no use for trust, because anybody may announce it.
    package var publicKey: [UInt8]?
    /// `acl`: 0 everybody on the network, 1 only members of the owner's home.
    package var accessControl: Int?
    /// `act`: 2 only the current user.
    package var accessControlType: Int?
    /// `pw`.
    package var announcesPassword: Bool?
    package var group = GroupHints()

    package init() {}

    /// From the `_airplay._tcp` service, or from the `_raop._tcp` one under its other names for the same things.
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
    }

    /// From `/info`, fresher than an announcement; what it leaves out stays as announced.
    package func updated(by info: ReceiverInfo) -> SpeakerTraits {
        var traits = self
        traits.model = Self.text(info.model) ?? model
        traits.features = info.features ?? features
        traits.status = info.statusFlags ?? status
        traits.sourceVersion = Self.text(info.sourceVersion) ?? sourceVersion
        return traits
    }

    /// Fills what is missing from another service of the same receiver.
    func completed(by other: SpeakerTraits) -> SpeakerTraits {
        var traits = self
        traits.model = model ?? other.model
        traits.manufacturer = manufacturer ?? other.manufacturer
        traits.features = features ?? other.features
        traits.status = status ?? other.status
        traits.sourceVersion = sourceVersion ?? other.sourceVersion
        traits.systemVersion = systemVersion ?? other.systemVersion
        traits.publicKey = publicKey ?? other.publicKey
        traits.announcesPassword = announcesPassword ?? other.announcesPassword
        return traits
    }

    package var isHomePod: Bool { model?.hasPrefix("AudioAccessory") ?? false }
    package var isAppleTV: Bool { model?.hasPrefix("AppleTV") ?? false }
    package var isAirPortExpress: Bool { model?.hasPrefix("AirPort") ?? false }
    /// Made by Apple, by the beginnings of its model names.
    package var isApple: Bool {
        isHomePod || isAppleTV || isAirPortExpress
            || ["Mac", "iMac", "iPhone", "iPad", "iPod"].contains { model?.hasPrefix($0) ?? false }
    }
    package var isShairportSync: Bool { model?.lowercased().hasPrefix("shairport") ?? false }
    package var isSonos: Bool { manufacturer?.lowercased().hasPrefix("sonos") ?? false }

    /// Whether it asks for a password before it plays.
    package var needsPassword: Bool { announcesPassword == true || status?.contains(.passwordRequired) == true }
    /// Whether only a sender that was paired by PIN is let in.
    package var needsPIN: Bool {
        status?.contains(.pinRequired) == true || status?.contains(.pairingRequired) == true
    }
    /// Whether its owner lets in nobody but members of the home.
    package var isRestrictedToHome: Bool { accessControl == 1 || accessControlType == 2 }

    private static func text(_ text: String?) -> String? {
        text.flatMap { $0.isEmpty ? nil : PrintableText.of($0) }
    }

    private static func isTrue(_ text: String) -> Bool { ["true", "1", "yes"].contains(text.lowercased()) }
}

/// How a receiver belongs to others, as far as it says so.
package struct GroupHints: Hashable, Sendable {
    /// `gid`: the playback group; changes while a sender plays.
    package var group: String?
    /// `pgid`: the group of an Apple TV or home theatre whose default output it is.
    package var parentGroup: String?
    /// `tsid`: the stereo pair, shared by both members.
    package var stereoPair: String?
    /// `gpn`: the group's name for people.
    package var name: String?
    /// `igl`: this receiver leads its group.
    package var isLeader: Bool?
    /// `gcgl`: the group contains a leader that can be found.
    package var containsLeader: Bool?

    package init() {}

    init(_ record: TXTRecord) {
        func text(_ key: String) -> String? { record[key].flatMap { $0.isEmpty ? nil : PrintableText.of($0) } }
        func flag(_ key: String) -> Bool? { record[key].map { $0 == "1" || $0.lowercased() == "true" } }
        group = text("gid")
        parentGroup = text("pgid")
        stereoPair = text("tsid")
        name = text("gpn")
        isLeader = flag("igl")
        containsLeader = flag("gcgl")
    }

    /// No hint at all. Such an announcement says nothing about groups; one with any of the hints says everything.
    package var isEmpty: Bool { self == GroupHints() }
}
