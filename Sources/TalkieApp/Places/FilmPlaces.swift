internal import MediaCore
internal import Storage

/// Where films were stopped, so that they can go on there: a small file, the last 1000 films. A film that was changed, or that lies
/// elsewhere, is another film.
///
/// A file that is damaged is set aside and one that a newer Talkie wrote is left alone; both count as nothing kept. Methods block on
/// the disk.
struct FilmPlaces: Sendable {
    private static let file = "film-places"
    private static let kind = "film-places"
    private static let version = 1
    static let mostFilms = 1000
    /// A week.
    private static let latest = 7 * 24 * 3600 * 1000

    private let folder: StateFolder

    init(_ folder: StateFolder) { self.folder = folder }

    /// One film and its place, in the order in which they were kept.
    struct Entry: Hashable, Sendable {
        var film: FilmKey
        /// From the film's first moment.
        var place: MediaTime
    }

    /// What is kept, oldest first.
    ///
    /// - Returns: nothing when there is none, with a sentence for the user when there was some that cannot be read.
    func read() -> (entries: [Entry], note: String?) {
        do throws(StateError) {
            switch try folder.readRecord(Self.file, kind: Self.kind, version: Self.version) {
            case .absent: return ([], nil)
            case .damaged(let sentence), .newer(let sentence): return ([], sentence)
            case .record(let record): return (Self.entries(of: record), nil)
            }
        } catch {
            return ([], error.message)
        }
    }

    /// Keeps a film's place, in place of the oldest when there are many.
    ///
    /// - Throws: `StateError` when it cannot be kept.
    func keep(_ place: MediaTime, of film: FilmKey) throws(StateError) {
        try change { entries in
            entries.removeAll { $0.film == film }
            entries.append(Entry(film: film, place: place))
        }
    }

    /// The film begins at its start again.
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
            for (number, entry) in entries.suffix(Self.mostFilms).enumerated() {
                record["film-\(number)"] = "\(entry.film.text) \(entry.place.nanoseconds / 1_000_000)"
            }
            try folder.write(Self.file, record.encoded())
        }
    }

    private static func entries(of record: StateRecord) -> [Entry] {
        (0..<mostFilms).compactMap { number in
            guard let parts = record["film-\(number)"]?.split(separator: " "), parts.count == 2,
                let film = FilmKey(kept: String(parts[0])), let milliseconds = DecimalNumber.whole(parts[1]),
                (1...latest).contains(milliseconds)
            else { return nil }
            return Entry(film: film, place: MediaTime(value: Int64(milliseconds), timescale: 1000))
        }
    }
}
