internal import MediaCore
internal import MediaFiles

/// A source whose video and audio are separate inputs, as web pages offer them, or a single input with the page's
/// title.
final class MultiInputSource: MediaSource {
    let summary: MediaSummary
    private let inputs: [any MediaSource]
    /// The index of the input of each track by track identifier, and the track's description in that input.
    private let inputTracks: [Int: (input: Int, track: Track)]

    /// Combines inputs.
    ///
    /// - Parameter inputs: One input, or video followed by audio, with the same origin of media time.
    init(_ inputs: [any MediaSource], title: String?, chapters: [Chapter]) {
        self.inputs = inputs
        var summary = inputs[0].summary
        var inputTracks = Dictionary(uniqueKeysWithValues: summary.tracks.map { ($0.id, (input: 0, track: $0)) })
        for (index, part) in inputs.enumerated().dropFirst() {
            let other = part.summary
            // Audio in the video input is of lower quality.
            summary.tracks.removeAll { $0.kind == .audio }
            var id = (summary.tracks.map(\.id).max() ?? 0) + 1
            for track in other.tracks where track.kind == .audio {
                var own = track
                own.id = id
                inputTracks[id] = (index, track)
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
        (self.summary, self.inputTracks) = (summary, inputTracks)
    }

    /// The host name of a server to which an input reconnects.
    var lostServer: String? { inputs.lazy.compactMap(\.lostServer).first }

    /// The input that was read ahead least.
    var readAhead: ReadAheadProgress? {
        inputs.compactMap(\.readAhead).min { $0.duration ?? .zero < $1.duration ?? .zero }
    }

    func source(for track: Track) throws(MediaError) -> any SampleSource {
        guard let input = inputTracks[track.id] else { return try inputs[0].source(for: track) }
        return try inputs[input.input].source(for: input.track)
    }
}
