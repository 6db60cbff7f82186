internal import CALSA
internal import MediaCore

/// The mapping from our channels to those of a device.
struct ChannelOrder: Equatable {
    /// The WAVEFORMATEXTENSIBLE bit of each device channel, in the device's order; 0 for a channel without a position.
    let bits: [UInt64]
    /// For each device channel the index of our channel; −1 for silence.
    let sources: [Int]

    /// The layout that samples must have for this device: its positions in ascending order.
    var layout: ChannelLayout {
        let mask = bits.reduce(0, |)
        return ChannelLayout(mask: mask, count: mask == 0 ? bits.count : mask.nonzeroBitCount)
    }

    /// Creates a mapping. Each position is fed once.
    ///
    /// - Parameter bits: Loudspeaker bits in the device's order.
    init(bits: [UInt64]) {
        var seen: UInt64 = 0
        // The second channel with the same position stays silent.
        self.bits = bits.map { bit in
            defer { seen |= bit }
            return seen & bit == 0 ? bit : 0
        }
        let mask = self.bits.reduce(0, |)
        sources = self.bits.enumerated().map { index, bit in
            if mask == 0 { return index }
            return bit == 0 ? -1 : (mask & (bit - 1)).nonzeroBitCount
        }
    }

    /// Returns ALSA's default order for devices without channel maps (pcm.h: front, rear, centre, LFE, side).
    static func alsaDefault(count: Int) -> ChannelOrder {
        switch count {
        case 1: return ChannelOrder(bits: [0x4])
        case 2, 4, 6, 8: return ChannelOrder(bits: Array([0x1, 0x2, 0x10, 0x20, 0x4, 0x8, 0x200, 0x400].prefix(count)))
        default:
            // Front stereo; the other channels stay silent, since their loudspeakers are unknown.
            return ChannelOrder(bits: (0..<count).map { $0 < 2 ? UInt64(1) << UInt64($0) : 0 })
        }
    }

    /// Creates the mapping of an ALSA channel map; nil if several channels have no known position among them.
    init?(_ map: UnsafePointer<snd_pcm_chmap_t>) {
        let count = Int(map.pointee.channels)
        guard count > 0, count <= 64 else { return nil }
        // The positions follow the count in memory; Swift does not import the flexible array member.
        let positions = UnsafeRawPointer(map).advanced(by: MemoryLayout<UInt32>.stride)
        let bits = (0..<count).map { index in
            let value = positions.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)
            return Self.bit(snd_pcm_chmap_position(rawValue: value & 0xFFFF))
        }
        if count == 1 {
            self.init(bits: [0x4])
        } else {
            guard bits.contains(where: { $0 != 0 }) else { return nil }
            self.init(bits: bits)
        }
    }

    private static func bit(_ position: snd_pcm_chmap_position) -> UInt64 {
        switch position {
        case SND_CHMAP_FL: return 0x1
        case SND_CHMAP_FR: return 0x2
        case SND_CHMAP_FC: return 0x4
        case SND_CHMAP_LFE: return 0x8
        case SND_CHMAP_RL: return 0x10
        case SND_CHMAP_RR: return 0x20
        case SND_CHMAP_FLC: return 0x40
        case SND_CHMAP_FRC: return 0x80
        case SND_CHMAP_RC: return 0x100
        case SND_CHMAP_SL: return 0x200
        case SND_CHMAP_SR: return 0x400
        case SND_CHMAP_TC: return 0x800
        case SND_CHMAP_TFL: return 0x1000
        case SND_CHMAP_TFC: return 0x2000
        case SND_CHMAP_TFR: return 0x4000
        case SND_CHMAP_TRL: return 0x8000
        case SND_CHMAP_TRC: return 0x10000
        case SND_CHMAP_TRR: return 0x20000
        default: return 0
        }
    }

    /// Returns the similarity to a layout of the media: 4 for each common position, −1 for each additional one.
    func likeness(to film: ChannelLayout) -> Int {
        let here = Self.sideIsRear(layout.mask)
        let wanted = Self.sideIsRear(film.mask)
        return 4 * (here & wanted).nonzeroBitCount - (here & ~wanted).nonzeroBitCount
    }

    /// Replaces side by rear positions: both names denote the same pair in a 5.1 setup.
    private static func sideIsRear(_ mask: UInt64) -> UInt64 {
        mask & 0x630 == 0x600 ? (mask & ~0x600) | 0x30 : mask
    }

    /// Returns the order for a device without channel maps; nil if no channel count is accepted.
    ///
    /// - Parameters:
    ///   - server: The layout of the sink, as reported by a sound server; nil if unknown.
    ///   - takes: Returns whether the device can be opened with a channel count.
    static func unmapped(
        for film: ChannelLayout, choice: ChannelChoice, server: ChannelLayout?, takes: (Int) -> Bool
    ) -> ChannelOrder? {
        let maxChannels: Int
        switch choice {
        case .autoSafe: maxChannels = min(film.count, server?.count ?? 2)
        case .auto: maxChannels = film.count
        case .layout(let layout): maxChannels = layout.count
        }
        // Additional device channels stay silent; media channels that the device lacks are downmixed.
        return [8, 6, 4, 2].first { $0 <= maxChannels && takes($0) }.map(alsaDefault)
    }
}
