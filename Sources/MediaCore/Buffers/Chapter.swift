/// A part of a film that its author named.
public struct Chapter: Sendable, Hashable {
    /// Film time at which it begins; it lasts until the next one.
    public var start: MediaTime
    /// As the film writes it; nil when it has no name.
    public var title: String?

    public init(start: MediaTime, title: String? = nil) {
        self.start = start
        self.title = title
    }
}

extension [Chapter] {
    /// The number, from 0, of the chapter that a film time lies in; nil before the first.
    public func index(at time: MediaTime) -> Int? { lastIndex { $0.start <= time } }
}
