public import MediaCore

/// A recording together with pictures that lie beside it.
public final class RecordingWithCovers: MediaSource {
    /// The recording by itself.
    public let recording: any MediaSource
    /// The recording's, with a cover track for each file behind its own.
    public let summary: MediaSummary
    /// One sentence for each cover that cannot be shown, inside and beside the recording.
    public let warnings: [String]
    private let covers: [Int: PictureFile]

    /// Reads the files. Blocks while a disk answers.
    ///
    /// - Parameters:
    ///   - named: paths that somebody named; one that cannot be shown is told of.
    ///   - found: paths that were found; the first that can be shown is taken.
    public init(_ recording: any MediaSource, named: [String], found: [String]) {
        self.recording = recording
        var (summary, warnings, covers) = (recording.summary, [String](), [Int: PictureFile]())
        var id = (summary.tracks.map(\.id).max() ?? 0) + 1
        var number = summary.tracks.filter { $0.kind == .video }.map(\.number).max() ?? 0
        func add(_ path: String) -> Bool {
            do throws(MediaError) {
                let file = try PictureFile.cover(path)
                var track = file.summary.tracks[0]
                number += 1
                (track.id, track.number, track.isExternal) = (id, number, true)
                summary.tracks.append(track)
                covers[id] = file
                id += 1
                return true
            } catch {
                warnings.append(error.message)
                return false
            }
        }
        for path in named.prefix(CoverArt.mostFiles) { _ = add(path) }
        if covers.isEmpty { _ = found.contains { add($0) } }
        let inside = (recording as? MediaFile)?.coverWarnings ?? []
        (self.summary, self.warnings, self.covers) = (summary, inside + warnings, covers)
    }

    /// The recording with what `CoverArt` finds beside it; what is given itself, where it has moving pictures or no sound.
    ///
    /// - Parameters:
    ///   - address: where it was opened from.
    ///   - named: paths of pictures that somebody named.
    public static func recording(
        _ recording: any MediaSource, at address: String, _ search: CoverSearch, named: [String] = []
    ) -> any MediaSource {
        let tracks = recording.summary.tracks
        guard tracks.contains(where: { $0.kind == .audio }),
            !tracks.contains(where: { $0.kind == .video && !$0.isCoverArt })
        else { return recording }
        return RecordingWithCovers(
            recording, named: named, found: named.isEmpty ? CoverArt.find(beside: address, search) : [])
    }

    public var lostServer: String? { recording.lostServer }

    public func source(for track: Track) throws(MediaError) -> any SampleSource {
        guard let cover = covers[track.id] else { return try recording.source(for: track) }
        return try cover.source(for: track)
    }
}
