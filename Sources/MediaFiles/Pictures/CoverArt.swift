internal import MediaCore

/// Which pictures beside a recording are taken for its cover, as mpv's `--cover-art-auto` has it.
public enum CoverSearch: String, Sendable, CaseIterable {
    /// None.
    case no
    /// Those with the recording's name, and those that are called as covers are.
    case exact
    /// Those whose name contains the recording's, too.
    case fuzzy
    /// Every picture.
    case all
}

/// Finds the pictures that lie beside a recording.
public enum CoverArt {
    /// What players and shops call the cover of a folder: mpv's list, most wanted first.
    static let usualNames = ["cover", "front", "folder", ".folder", "album", "albumart", "albumartsmall", "thumb"]
    /// What `PictureFile` shows.
    package static let endings: Set<String> = ["jpg", "jpeg", "jfif", "png", "webp", "gif", "bmp", "tif", "tiff"]
    /// More are not taken.
    public static let mostFiles = 16

    /// Looks into the recording's folder and opens nothing. Blocks while a disk answers.
    ///
    /// - Parameter recording: a path or `file:` URL; anything else has no files beside it.
    /// - Returns: paths, most wanted first.
    public static func find(beside recording: String, _ search: CoverSearch) -> [String] {
        // ignored: opening the recording reports an address that cannot be understood.
        guard search != .no, let address = try? InputAddress(recording), address.kind == .file else { return [] }
        let slash = address.path.lastIndex(of: "/")
        let home = slash.map { String(address.path[...$0]) } ?? "./"
        let file = slash.map { address.path[address.path.index(after: $0)...] } ?? address.path[...]
        let own = stem(String(file)).lowercased()
        let found = FilmSubtitles.names(in: home, withHidden: true).compactMap { name -> (rank: Int, name: String)? in
            guard let dot = name.lastIndex(of: "."), dot != name.startIndex,
                endings.contains(name[name.index(after: dot)...].lowercased())
            else { return nil }
            let stem = stem(name).lowercased()
            if stem == own { return (0, name) }
            if let place = usualNames.firstIndex(of: stem) { return (1 + place, name) }
            if search != .exact, !own.isEmpty, stem.contains(own) { return (100, name) }
            return search == .all && !name.hasPrefix(".") ? (101, name) : nil
        }
        let sorted = found.sorted { $0.rank != $1.rank ? $0.rank < $1.rank : NaturalOrder.precedes($0.name, $1.name) }
        return sorted.prefix(mostFiles).map { home + $0.name }
    }

    private static func stem(_ name: String) -> String { name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name }
}
