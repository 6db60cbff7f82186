package import MediaCore

/// A film combined with external subtitle files.
package final class FilmWithSubtitles: MediaSource {
    /// The film without the files.
    package let film: any MediaSource
    /// The film's summary, with the tracks of the files after its own.
    package let summary: MediaSummary
    /// One sentence for each unreadable file and each track without a decoder, and one for all files over the limit.
    package let warnings: [String]

    private struct Outside {
        var file: SubtitleFile
        /// The track's identifier in its file.
        var id: Int
    }
    private let outside: [Int: Outside]

    /// The maximum size in bytes of the text of all files. In memory, short lines take 12 times their size.
    private static let maxTextBytes = 64 << 20

    /// Opens the files. Blocks. Unreadable files, and those beyond the limit of text, become `warnings`.
    ///
    /// - Parameter cancellation: Cancels opening, and later every source of these files, but not of the film.
    init(
        _ film: any MediaSource, _ found: [FoundSubtitles], options: ReadOptions = ReadOptions(),
        cancellation: Cancellation = Cancellation()
    ) {
        self.film = film
        var (summary, warnings, outside) = (film.summary, [String](), [Int: Outside]())
        var id = (summary.tracks.map(\.id).max() ?? 0) + 1
        var number = summary.tracks.filter { $0.kind == .subtitle }.map(\.number).max() ?? 0
        var (textBytes, unopened) = (0, 0)
        for entry in found {
            let size = SubtitleFile.byteCount(of: entry.path)
            // A file that is too large alone has its own message.
            guard textBytes + size <= Self.maxTextBytes || size > SubtitleFile.maxBytes else {
                unopened += 1
                continue
            }
            do throws(MediaError) {
                let file = try SubtitleFile.open(entry.path, options: options, cancellation: cancellation)
                warnings += file.warnings
                textBytes += file.textBytes
                for inside in file.summary.tracks {
                    number += 1
                    outside[id] = Outside(file: file, id: inside.id)
                    summary.tracks.append(Self.track(inside, id: id, number: number, entry))
                    id += 1
                }
            } catch {
                warnings.append(error.message)
            }
        }
        if unopened > 0 {
            warnings.append(
                "not opened: \(unopened) of the film's subtitle files, which have more than \(Self.maxTextBytes >> 20) MB of "
                    + "text together; move those that you do not need")
        }
        (self.summary, self.warnings, self.outside) = (summary, warnings, outside)
    }

    /// Returns the film combined with user-provided files and those that `FilmSubtitles` finds; the film alone if there
    /// are none. Blocks.
    ///
    /// - Parameters:
    ///   - address: The address from which the film was opened.
    ///   - named: Paths of user-provided files, which come first.
    package static func film(
        _ film: any MediaSource, at address: String, _ search: SubtitleSearch,
        folders: [String] = FilmSubtitles.usualFolders, named: [String] = [], options: ReadOptions = ReadOptions(),
        cancellation: Cancellation = Cancellation()
    ) -> any MediaSource {
        let found =
            named.map(FoundSubtitles.init(naming:))
            + FilmSubtitles.find(beside: address, search, folders: folders).filter { !named.contains($0.path) }
        return found.isEmpty ? film : FilmWithSubtitles(film, found, options: options, cancellation: cancellation)
    }

    private static func track(_ inside: Track, id: Int, number: Int, _ entry: FoundSubtitles) -> Track {
        var track = inside
        (track.id, track.number, track.isExternal) = (id, number, true)
        track.language = inside.language ?? entry.language
        track.title = inside.title ?? entry.title
        track.isForced = inside.isForced || entry.isForced
        track.isForHearingImpaired = inside.isForHearingImpaired || entry.isForHearingImpaired
        // If a file has several languages, the first is the default.
        track.isDefault = entry.isMeant && inside.number == 1
        track.isUserProvided = entry.isUserProvided && inside.number == 1
        return track
    }

    /// The film's lost server. Any thread.
    package var lostServer: String? { film.lostServer }

    /// How much of the film was read ahead. Any thread.
    package var readAhead: ReadAheadProgress? { film.readAhead }

    /// The gaps closed in the film.
    package var closedGaps: MediaTime { film.closedGaps }

    /// Returns a source of a track, from the film or from its subtitle file.
    package func source(for track: Track) throws(MediaError) -> any SampleSource {
        guard let entry = outside[track.id] else { return try film.source(for: track) }
        return try entry.file.source(for: entry.id, as: track)
    }
}
