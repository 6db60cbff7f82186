internal import MediaCore

/// The name of the decoder in use, for the user. Stored by decoders; any thread.
package final class DecoderReport: Sendable {
    private let description = Lock<String?>(nil)

    /// Creates a report without a name.
    package init() {}

    /// The codec and its decoder: `h264 (software)`, `hevc (vaapi)`. Nil before the first video frame. Any thread.
    package var latest: String? { description.withLock { $0 } }

    /// Stores the name; called by a decoder with each video frame. Any thread.
    package func setDecoder(_ decoder: String) {
        description.withLock { words in
            if words != decoder { words = decoder }
        }
    }
}
