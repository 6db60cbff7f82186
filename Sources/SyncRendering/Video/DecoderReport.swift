internal import MediaCore

/// Who decoded the latest picture, for people who want to know. Decoders write it; any thread reads.
public final class DecoderReport: Sendable {
    private let words = Lock<String?>(nil)

    public init() {}

    /// The codec and who decodes it: `h264 (software)`, `hevc (vaapi)`. Nil before the first picture.
    public var latest: String? { words.withLock { $0 } }

    /// For decoders, with each picture.
    public func note(_ decoder: String) {
        words.withLock { words in
            if words != decoder { words = decoder }
        }
    }
}
