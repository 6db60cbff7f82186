internal import CPulse
internal import MediaCore

/// The channel layouts of the sound server's sinks.
enum SinkLayout {
    /// The timeout: longer than a responding server needs, short enough for a start of playback.
    private static let timeout = Duration.milliseconds(500)

    /// Returns the layout of a sink, nil: the server's default one. Nil without a server or response. Blocks for some
    /// milliseconds, at most 0.5 s.
    static func ask(sinkName: String?) -> ChannelLayout? {
        guard let view = SoundServer.shared?.view(within: timeout) else { return nil }
        return sinkName.map { name in view.sinks.first { $0.name == name }?.layout } ?? view.defaultLayout
    }

    /// Converts a channel map to WAVEFORMATEXTENSIBLE bits; nil if it has none of the supported positions. Callers
    /// then assume stereo.
    static func layout(of map: pa_channel_map) -> ChannelLayout? {
        let count = min(Int(map.channels), 32)
        let mask = withUnsafeBytes(of: map.map) { places -> UInt64 in
            places.bindMemory(to: pa_channel_position_t.self).prefix(count).reduce(0) { $0 | bit(of: $1) }
        }
        guard mask != 0 else { return nil }
        return ChannelLayout(mask: mask, count: mask.nonzeroBitCount)
    }

    private static func bit(of place: pa_channel_position_t) -> UInt64 {
        switch place {
        case PA_CHANNEL_POSITION_FRONT_LEFT: 0x1
        case PA_CHANNEL_POSITION_FRONT_RIGHT: 0x2
        case PA_CHANNEL_POSITION_FRONT_CENTER, PA_CHANNEL_POSITION_MONO: 0x4
        case PA_CHANNEL_POSITION_LFE: 0x8
        case PA_CHANNEL_POSITION_REAR_LEFT: 0x10
        case PA_CHANNEL_POSITION_REAR_RIGHT: 0x20
        case PA_CHANNEL_POSITION_SIDE_LEFT: 0x200
        case PA_CHANNEL_POSITION_SIDE_RIGHT: 0x400
        default: 0
        }
    }
}
