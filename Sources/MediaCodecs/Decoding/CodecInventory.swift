internal import CFFmpeg

/// What the FFmpeg on this computer can do.
public enum CodecInventory {
    /// A library and its version as it runs here.
    public struct Library: Sendable, Hashable {
        public var name: String
        public var version: String
    }

    /// The libraries in use, as loaded and not as compiled against.
    public static var libraries: [Library] {
        [
            Library(name: "libavformat", version: text(avformat_version())),
            Library(name: "libavcodec", version: text(avcodec_version())),
            Library(name: "libavutil", version: text(avutil_version())),
            Library(name: "libswresample", version: text(swresample_version())),
            Library(name: "libswscale", version: text(swscale_version())),
        ]
    }

    /// Major, minor and micro in one number (AV_VERSION_INT).
    private static func text(_ version: UInt32) -> String {
        "\(version >> 16).\(version >> 8 & 0xFF).\(version & 0xFF)"
    }

    /// Whether something decodes a codec, by FFmpeg's name for the codec: `"h264"`, `"aac"`.
    public static func canDecode(_ codec: String) -> Bool {
        guard let descriptor = avcodec_descriptor_get_by_name(codec) else { return false }
        return avcodec_find_decoder(descriptor.pointee.id) != nil
    }

    /// Whether addresses of a protocol can be opened: `"https"`.
    public static func canRead(protocol wanted: String) -> Bool {
        var state: UnsafeMutableRawPointer?
        while let name = avio_enum_protocols(&state, 0) {
            if String(cString: name) == wanted { return true }
        }
        return false
    }
}
