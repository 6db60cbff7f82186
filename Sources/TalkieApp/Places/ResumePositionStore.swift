internal import MediaCore
internal import Storage

/// Stored playback positions, for resuming: a small file with the last 1000 films. A modified or moved file counts as
/// another film.
///
/// A damaged file is moved aside, one of a newer version is left unchanged; both count as empty. Methods block on the
/// disk.
struct ResumePositionStore: Sendable {
    private static let file = "film-places"
    private static let kind = "film-places"
    private static let version = 1
    static let maxFilms = 1000
    /// Maximum position in milliseconds: a week.
    private static let latest = 7 * 24 * 3600 * 1000

    private let folder: StateFolder

    init(_ folder: StateFolder) { self.folder = folder }

    /// A film and its position.
    struct Entry: Hashable, Sendable {
        var film: FilmKey
        /// Relative to the start of the film.
        var place: MediaTime
    }

    /// Returns the entries, oldest first.
    ///
    /// - Returns: Empty if there are none or the file is unusable; then with a sentence for the user.
    func read() -> (entries: [Entry], note: String?) {
        let (entries, note) = folder.contents(of: Self.file, kind: Self.kind, version: Self.version) {
            Self.entries(of: $0)
        }
        return (entries ?? [], note)
    }

    /// Stores the position of a film; the oldest entry is dropped beyond the limit.
    ///
    /// - Throws: `StateError` if it cannot be stored.
    func store(_ place: MediaTime, of film: FilmKey) throws(StateError) {
        try change { entries in
            entries.removeAll { $0.film == film }
            entries.append(Entry(film: film, place: place))
        }
    }

    /// Removes the position of a film.
    func forget(_ film: FilmKey) throws(StateError) {
        guard read().entries.contains(where: { $0.film == film }) else { return }
        try change { $0.removeAll { $0.film == film } }
    }

    private func change(_ body: (inout [Entry]) -> Void) throws(StateError) {
        try folder.exclusively { () throws(StateError) in
            var entries: [Entry] = []
            switch try folder.readRecord(Self.file, kind: Self.kind, version: Self.version) {
            case .absent, .damaged: break
            case .record(let record): entries = Self.entries(of: record)
            case .newer(let sentence): throw StateError(.newer, sentence)
            }
            body(&entries)
            var record = StateRecord(kind: Self.kind, version: Self.version)
            for (number, entry) in entries.suffix(Self.maxFilms).enumerated() {
                record["film-\(number)"] = "\(entry.film.text) \(entry.place.nanoseconds / 1_000_000)"
            }
            try folder.write(Self.file, record.encoded())
        }
    }

    private static func entries(of record: StateRecord) -> [Entry] {
        (0..<maxFilms).compactMap { number in
            guard let parts = record["film-\(number)"]?.split(separator: " "), parts.count == 2,
                let film = FilmKey(kept: String(parts[0])), let milliseconds = DecimalNumber.whole(parts[1]),
                (1...latest).contains(milliseconds)
            else { return nil }
            return Entry(film: film, place: MediaTime(value: Int64(milliseconds), timescale: 1000))
        }
    }
}
