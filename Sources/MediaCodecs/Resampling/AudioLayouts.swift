internal import CFFmpeg
internal import MediaCore

/// Conversions between channel layouts of MediaCore and libavutil; position bits are the same.
enum AudioLayouts {
    static func set(_ target: inout AVChannelLayout, _ layout: ChannelLayout) {
        av_channel_layout_uninit(&target)
        if layout.mask != 0, layout.mask.nonzeroBitCount == layout.count {
            av_channel_layout_from_mask(&target, layout.mask)
        } else {
            target.order = AV_CHANNEL_ORDER_UNSPEC
            target.nb_channels = Int32(clamping: layout.count)
        }
    }

    static func isSensible(_ layout: AVChannelLayout) -> Bool {
        layout.nb_channels > 0 && layout.nb_channels <= 64
    }

    /// Returns the channel positions; the default ones for the channel count if unspecified.
    static func mask(of layout: AVChannelLayout) -> UInt64 {
        if layout.order == AV_CHANNEL_ORDER_NATIVE { return layout.u.mask }
        var usual = AVChannelLayout()
        av_channel_layout_default(&usual, layout.nb_channels)
        defer { av_channel_layout_uninit(&usual) }
        return usual.order == AV_CHANNEL_ORDER_NATIVE ? usual.u.mask : 0
    }
}
