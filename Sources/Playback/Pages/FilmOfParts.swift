internal import MediaCore
internal import MediaFiles

/// A source whose video and audio are separate inputs, as web pages offer them, or a single input with the page's
/// title.
final class FilmOfParts: MediaSource {
    let summary: MediaSummary
    private let parts: [any MediaSource]
    /// The index of the input of each track by track identifier, and the track's description in that input.
    private let places: [Int: (part: Int, track: Track)]

    /// Combines inputs.
    ///
    /// - Parameter parts: One input, or video followed by audio, with the same origin of media time.
    init(_ parts: [any MediaSource], title: String?, chapters: [Chapter]) {
        self.parts = parts
        var summary = parts[0].summary
        var places = Dictionary(uniqueKeysWithValues: summary.tracks.map { ($0.id, (part: 0, track: $0)) })
        for (index, part) in parts.enumerated().dropFirst() {
            let other = part.summary
            // Audio in the video input is of lower quality.
            summary.tracks.removeAll { $0.kind == .audio }
            var id = (summary.tracks.map(\.id).max() ?? 0) + 1
            for track in other.tracks where track.kind == .audio {
                var own = track
                own.id = id
                places[id] = (index, track)
                summary.tracks.append(own)
                id += 1
            }
            if let first = summary.duration, let second = other.duration {
                summary.duration = max(first, second)
            } else {
                summary.duration = nil
            }
            summary.isSeekable = summary.isSeekable && other.isSeekable
            summary.sharesReader = summary.sharesReader || other.sharesReader
            summary.isLive = summary.isLive || other.isLive
        }
        if let title { summary.title = title }
        if !chapters.isEmpty { summary.chapters = chapters }
        (self.summary, self.places) = (summary, places)
    }

    /// The host name of a server to which an input reconnects.
    var lostServer: String? { parts.lazy.compactMap(\.lostServer).first }

    /// The input that was read ahead least.
    var readAhead: ReadAheadProgress? {
        parts.compactMap(\.readAhead).min { $0.duration ?? .zero < $1.duration ?? .zero }
    }

    func source(for track: Track) throws(MediaError) -> any SampleSource {
        guard let place = places[track.id] else { return try parts[0].source(for: track) }
        return try parts[place.part].source(for: place.track)
    }
}
