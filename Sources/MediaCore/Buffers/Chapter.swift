/// A chapter of the media.
public struct Chapter: Sendable, Hashable {
    /// Start in media time; the chapter ends at the start of the next one.
    public var start: MediaTime
    /// The title in the media; nil if the chapter has none.
    public var title: String?

    /// Creates a chapter.
    public init(start: MediaTime, title: String? = nil) {
        self.start = start
        self.title = title
    }
}

extension [Chapter] {
    /// Returns the index of the chapter that contains a media time; nil before the first.
    public func index(at time: MediaTime) -> Int? { lastIndex { $0.start <= time } }
}
