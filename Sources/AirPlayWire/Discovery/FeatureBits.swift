/// The capabilities of a receiver: 64 bits, in mDNS one or two hexadecimal numbers.
package struct FeatureBits: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    private init(bit: UInt64) { rawValue = 1 << bit }

    /// AirPlay video of version 1 or 2, or a mirrored screen: the receiver has a display.
    package static let video = FeatureBits(rawValue: 1 << 0 | 1 << 7 | 1 << 49)
    package static let audio = FeatureBits(bit: 9)
    static let redundantAudio = FeatureBits(bit: 11)
    package static let artwork = FeatureBits(bit: 15)
    package static let progress = FeatureBits(bit: 16)
    package static let textMetadata = FeatureBits(bit: 17)
    static let mfiAuthentication = FeatureBits(bit: 26)
    static let legacyPairing = FeatureBits(bit: 27)
    package static let unifiedMediaControl = FeatureBits(bit: 38)
    /// Supports streams of type 103.
    package static let bufferedAudio = FeatureBits(bit: 40)
    /// Supports PTP timing.
    package static let ptp = FeatureBits(bit: 41)
    static let systemPairing = FeatureBits(bit: 43)
    package static let ntp = FeatureBits(bit: 45)
    package static let homeKitPairing = FeatureBits(bit: 46)
    package static let transientPairing = FeatureBits(bit: 48)
    /// Reads the item as property lists of `POST /command`.
    package static let nowPlayingPropertyList = FeatureBits(bit: 50)
    /// Accepts SETPEERSX.
    package static let extendedPeers = FeatureBits(bit: 52)

    /// Parses `0xLOW` or `0xLOW,0xHIGH`; nil for anything else.
    init?(text: String) {
        let fields = text.split(separator: ",", omittingEmptySubsequences: false).map { field in
            UInt32(field.drop { $0 == " " }.drop0x, radix: 16)
        }
        guard (1...2).contains(fields.count), let low = fields[0] else { return nil }
        var value = UInt64(low)
        if fields.count == 2 {
            guard let high = fields[1] else { return nil }
            value |= UInt64(high) << 32
        }
        rawValue = value
    }

    /// The indices of the set bits.
    var bits: [Int] { (0..<64).filter { rawValue >> UInt64($0) & 1 == 1 } }
}

/// The state that a receiver announces.
package struct StatusFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    static let problem = StatusFlags(rawValue: 0x1)
    static let notConfigured = StatusFlags(rawValue: 0x2)
    package static let cableAttached = StatusFlags(rawValue: 0x4)
    /// A PIN is required for every new connection.
    package static let pinRequired = StatusFlags(rawValue: 0x8)
    package static let passwordRequired = StatusFlags(rawValue: 0x80)
    /// A one-time pairing by PIN is required.
    package static let pairingRequired = StatusFlags(rawValue: 0x200)
    static let homeKitAccessControl = StatusFlags(rawValue: 0x400)
    /// A session is playing; shairport-sync sets this bit instead of `busy` (observed).
    package static let playing = StatusFlags(rawValue: 0x800)
    /// Another sender is playing.
    package static let busy = StatusFlags(rawValue: 0x2_0000)

    /// Parses a hexadecimal number with or without `0x`; nil for anything else.
    init?(text: String) {
        guard let value = UInt64(text[...].drop0x, radix: 16) else { return nil }
        rawValue = value
    }
}

extension Substring {
    /// The text without a leading `0x`.
    fileprivate var drop0x: Substring { hasPrefix("0x") || hasPrefix("0X") ? dropFirst(2) : self }
}
