package import MediaCore

/// A recording combined with external covers.
package final class RecordingWithCovers: MediaSource {
    /// The recording without the files.
    let recording: any MediaSource
    /// The recording's summary, with a cover track for each file after its own.
    package let summary: MediaSummary
    /// One sentence for each cover that cannot be displayed, embedded or external.
    package let warnings: [String]
    private let covers: [Int: ImageFile]

    /// Reads the files. Blocks. Files that cannot be displayed become `warnings`.
    ///
    /// - Parameters:
    ///   - named: The paths of user-provided files.
    ///   - found: The paths that were found; the first usable one is loaded if no named file was.
    init(_ recording: any MediaSource, named: [String], found: [String]) {
        self.recording = recording
        var (summary, warnings, covers) = (recording.summary, [String](), [Int: ImageFile]())
        var id = (summary.tracks.map(\.id).max() ?? 0) + 1
        var number = summary.tracks.filter { $0.kind == .video }.map(\.number).max() ?? 0
        func add(_ path: String) -> Bool {
            do throws(MediaError) {
                let file = try ImageFile.cover(path)
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
        for path in named.prefix(CoverArt.maxFiles) { _ = add(path) }
        if covers.isEmpty { _ = found.contains { add($0) } }
        let inside = (recording as? MediaFile)?.coverWarnings ?? []
        (self.summary, self.warnings, self.covers) = (summary, inside + warnings, covers)
    }

    /// Returns the recording combined with the covers that `CoverArt` finds. Without audio or with video, returns the
    /// recording unchanged. Blocks.
    ///
    /// - Parameters:
    ///   - address: The address from which the recording was opened.
    ///   - named: The paths of user-provided images, which replace the search.
    package static func recording(
        _ recording: any MediaSource, at address: String, _ search: CoverSearch, named: [String] = []
    ) -> any MediaSource {
        let tracks = recording.summary.tracks
        guard tracks.contains(where: { $0.kind == .audio }),
            !tracks.contains(where: { $0.kind == .video && !$0.isCoverArt })
        else { return recording }
        return RecordingWithCovers(
            recording, named: named, found: named.isEmpty ? CoverArt.find(beside: address, search) : [])
    }

    /// The recording's lost server. Any thread.
    package var lostServer: String? { recording.lostServer }

    /// How much of the recording was read ahead. Any thread.
    package var readAhead: ReadAheadProgress? { recording.readAhead }

    /// The gaps closed in the recording.
    package var closedGaps: MediaTime { recording.closedGaps }

    /// Returns a source of a track, from the recording or from its cover file.
    package func source(for track: Track) throws(MediaError) -> any SampleSource {
        guard let cover = covers[track.id] else { return try recording.source(for: track) }
        return try cover.source(for: track)
    }
}
