/// The channels of the media that an output plays: all of them, or a part, such as one speaker of a stereo pair.
///
/// An output with a part receives it on its first two channels, or on its only one; the others are silent.
public enum ChannelSelection: Sendable, Hashable {
    /// All channels, mixed to those of the output.
    case whole
    /// The left channel of the mix to stereo.
    case left
    /// The right channel of the mix to stereo.
    case right
    /// The mean of the left and the right channel of the mix to stereo.
    case mono
    /// One channel of the media, at its own level. Media without it: `ChannelPosition` states what is played instead.
    case position(ChannelPosition)

    /// Parses `stereo` (the whole), `left`, `right`, `mono`, or the name of a position; throws for other text.
    public init(parsing text: String) throws(ValueError) {
        let name = text.lowercased()
        guard let selection = Self.named.first(where: { $0.text == name }) else {
            throw ValueError("the part must be one of " + Self.named.map(\.text).joined(separator: ", "))
        }
        self = selection
    }

    private static let named: [ChannelSelection] =
        [.whole, .left, .right, .mono] + ChannelPosition.allCases.map { .position($0) }

    /// The text that `init(parsing:)` accepts.
    public var text: String {
        switch self {
        case .whole: "stereo"
        case .left: "left"
        case .right: "right"
        case .mono: "mono"
        case .position(let position): position.rawValue
        }
    }

    /// The part for the user: `left`, `FC`; nil for the whole.
    package var label: String? {
        switch self {
        case .whole: nil
        case .left, .right, .mono: text
        case .position: text.uppercased()
        }
    }

    /// Returns the selection that media of a layout can fulfil.
    package func resolved(in layout: ChannelLayout) -> ChannelSelection {
        guard case .position(let position) = self else { return self }
        // At the level that it has in the whole.
        guard layout.count > 1 else { return .mono }
        guard layout.index(of: position) == nil else { return self }
        if let other = position.counterpart, layout.index(of: other) != nil { return .position(other) }
        switch position {
        case .frontLeft, .backLeft, .sideLeft: return .left
        case .frontRight, .backRight, .sideRight: return .right
        case .frontCenter, .lowFrequency: return .mono
        }
    }
}

/// A channel of 5.1 or 7.1, by FFmpeg's and mpv's abbreviation.
///
/// If media lack a side or back channel, the other one of that side is played instead; if they lack both, or a front
/// channel, the left or right channel of the mix to stereo. For the centre and the low frequency channel, and for media
/// with one channel, it is the mean of both.
public enum ChannelPosition: String, Sendable, Hashable, CaseIterable {
    case frontLeft = "fl"
    case frontRight = "fr"
    case frontCenter = "fc"
    case lowFrequency = "lfe"
    case backLeft = "bl"
    case backRight = "br"
    case sideLeft = "sl"
    case sideRight = "sr"

    /// The bit in `ChannelLayout.mask`.
    fileprivate var mask: UInt64 {
        switch self {
        case .frontLeft: 0x1
        case .frontRight: 0x2
        case .frontCenter: 0x4
        case .lowFrequency: 0x8
        case .backLeft: 0x10
        case .backRight: 0x20
        case .sideLeft: 0x200
        case .sideRight: 0x400
        }
    }

    /// The other surround channel of the same side.
    fileprivate var counterpart: ChannelPosition? {
        switch self {
        case .backLeft: .sideLeft
        case .backRight: .sideRight
        case .sideLeft: .backLeft
        case .sideRight: .backRight
        default: nil
        }
    }
}

extension ChannelLayout {
    /// Returns the index of a channel; nil if the layout has none.
    package func index(of position: ChannelPosition) -> Int? {
        guard mask & position.mask != 0, mask.nonzeroBitCount == count else { return nil }
        return (mask & (position.mask - 1)).nonzeroBitCount
    }

    /// The layout with the usual positions of 5.1 or 7.1, if the media do not specify the order of channels.
    package var usual: ChannelLayout {
        guard mask.nonzeroBitCount != count else { return self }
        return switch count {
        case 1: .mono
        // Back channels, as in `av_channel_layout_default`.
        case 6: ChannelLayout(mask: 0x3F, count: 6)
        case 8: .surround71
        default: .stereo
        }
    }
}
