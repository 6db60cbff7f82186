public import MediaCore

/// The item that plays, for outputs that display it.
///
/// It contains no position: the elapsed time at an instant follows from the timebase, as does the rate.
public struct NowPlaying: Hashable, Sendable {
    /// A cover or a frame of a film, as the bytes of an image file.
    public struct Artwork: Hashable, Sendable {
        /// The format of the image.
        public enum Format: Hashable, Sendable { case jpeg, png }

        /// Maximum size in bytes: speakers take an image in one request, which delays the ones after it.
        public static let maxBytes = 512 << 10

        /// The bytes of the image file.
        public let bytes: [UInt8]
        /// The format, from the signature of the file.
        public let format: Format

        /// Creates artwork from an image file. Nil if it is neither JPEG nor PNG, or larger than `maxBytes`.
        public init?(_ bytes: [UInt8]) {
            guard bytes.count <= Self.maxBytes else { return nil }
            // ITU-T T.81, annex B.1: SOI and the first byte of the next marker; W3C PNG, section 5.2.
            if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
                format = .jpeg
            } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
                format = .png
            } else {
                return nil
            }
            self.bytes = bytes
        }
    }

    /// The displayed title.
    public var title: String
    /// The artist; nil: unknown.
    public var artist: String?
    /// The album; nil: unknown.
    public var album: String?
    /// The genre; nil: unknown.
    public var genre: String?
    /// The number of the track on its album, from 1; nil: unknown.
    public var trackNumber: Int?
    /// The image; nil: none.
    public var artwork: Artwork?
    /// The duration; nil: unknown, as of a live stream.
    public var duration: MediaTime?
    /// The time of the item's beginning on the timeline of the timebase; negative if the timeline begins within it.
    public var start: MediaTime

    /// Creates a description.
    public init(
        title: String, artist: String? = nil, album: String? = nil, genre: String? = nil, trackNumber: Int? = nil,
        artwork: Artwork? = nil, duration: MediaTime? = nil, start: MediaTime = .zero
    ) {
        (self.title, self.artist, self.album, self.artwork) = (title, artist, album, artwork)
        (self.genre, self.trackNumber) = (genre, trackNumber)
        (self.duration, self.start) = (duration, start)
    }

    /// Returns the elapsed time at a time of the timeline, within the item.
    public func elapsed(at time: MediaTime) -> MediaTime {
        let elapsed = max(.zero, time - start)
        return duration.map { min(elapsed, max(.zero, $0)) } ?? elapsed
    }
}
