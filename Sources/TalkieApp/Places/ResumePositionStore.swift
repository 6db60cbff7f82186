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
        var position: MediaTime
        /// How it was played: values by the names of properties, and the languages of outputs.
        var settings: [String: String] = [:]
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

    /// Stores the position of a film, and how it was played; the oldest entry is dropped beyond the limit.
    ///
    /// - Throws: `StateError` if it cannot be stored.
    func store(_ position: MediaTime, of film: FilmKey, settings: [String: String] = [:]) throws(StateError) {
        try change { entries in
            entries.removeAll { $0.film == film }
            entries.append(Entry(film: film, position: position, settings: settings))
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
                record["film-\(number)"] = "\(entry.film.text) \(entry.position.nanoseconds / 1_000_000)"
            }
            // Earlier versions ignore these lines. The newest ones that fit the size of a state file.
            var left = Self.maxSettingsBytes
            for (number, entry) in entries.suffix(Self.maxFilms).enumerated().reversed() where !entry.settings.isEmpty {
                let text = Self.text(of: entry.settings)
                left -= text.utf8.count + 16
                guard left >= 0 else { break }
                record["settings-\(number)"] = text
            }
            try folder.write(Self.file, record.encoded())
        }
    }

    private static func entries(of record: StateRecord) -> [Entry] {
        (0..<maxFilms).compactMap { number in
            guard let fields = record["film-\(number)"]?.split(separator: " "), fields.count == 2,
                let film = FilmKey(kept: String(fields[0])), let milliseconds = DecimalNumber.integer(fields[1]),
                (1...latest).contains(milliseconds)
            else { return nil }
            return Entry(
                film: film, position: MediaTime(value: Int64(milliseconds), timescale: 1000),
                settings: record["settings-\(number)"].map(settings) ?? [:])
        }
    }

    // MARK: Settings

    /// The maximum number of settings of a film, and the maximum size of their text in bytes.
    private static let (maxSettings, maxTextBytes) = (32, 2000)
    /// The maximum size of all lines with settings: `StateFolder.fileLimit` without those of `maxFilms` positions.
    private static let maxSettingsBytes = 24 << 10

    /// Returns the settings as `name=value`, separated by spaces; other characters are percent-encoded.
    private static func text(of settings: [String: String]) -> String {
        func encoded(_ text: String) -> String {
            PercentEncoding.encoded(text.utf8) { byte in
                byte < 0x7F && byte > 0x20 && byte != UInt8(ascii: "=") && byte != UInt8(ascii: "%")
            }
        }
        let settingFields = settings.sorted { $0.key < $1.key }.prefix(maxSettings).map {
            "\(encoded($0.key))=\(encoded($0.value))"
        }
        let text = settingFields.joined(separator: " ")
        return text.utf8.count <= maxTextBytes ? text : ""
    }

    private static func settings(of text: String) -> [String: String] {
        guard text.utf8.count <= maxTextBytes else { return [:] }
        let pairs = text.split(separator: " ").prefix(maxSettings).compactMap { word -> (String, String)? in
            let fields = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                String(decoding: PercentEncoding.decoded($0.utf8), as: UTF8.self)
            }
            return fields.count == 2 ? (fields[0], fields[1]) : nil
        }
        return Dictionary(pairs) { _, later in later }
    }
}
