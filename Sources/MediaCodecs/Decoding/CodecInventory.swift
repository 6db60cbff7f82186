internal import CFFmpeg

/// The capabilities of the installed FFmpeg.
package enum CodecInventory {
    /// A library and its version at run time.
    package struct Library: Sendable, Hashable {
        /// The name, such as `libavcodec`.
        package var name: String
        /// The version as `major.minor.micro`.
        package var version: String
    }

    /// The versions of the loaded libraries, not of the headers.
    package static var libraries: [Library] {
        [
            Library(name: "libavformat", version: text(avformat_version())),
            Library(name: "libavcodec", version: text(avcodec_version())),
            Library(name: "libavutil", version: text(avutil_version())),
            Library(name: "libswresample", version: text(swresample_version())),
            Library(name: "libswscale", version: text(swscale_version())),
        ]
    }

    /// Formats an AV_VERSION_INT: major, minor and micro in one number.
    private static func text(_ version: UInt32) -> String {
        "\(version >> 16).\(version >> 8 & 0xFF).\(version & 0xFF)"
    }

    /// Returns whether a decoder exists for a codec by FFmpeg's name: `"h264"`, `"aac"`.
    package static func canDecode(_ codec: String) -> Bool {
        guard let descriptor = avcodec_descriptor_get_by_name(codec) else { return false }
        return avcodec_find_decoder(descriptor.pointee.id) != nil
    }

    /// Returns whether URLs of a protocol can be opened: `"https"`.
    package static func canRead(protocol wanted: String) -> Bool {
        var state: UnsafeMutableRawPointer?
        while let name = avio_enum_protocols(&state, 0) {
            if String(cString: name) == wanted { return true }
        }
        return false
    }
}
