internal import MediaCore

/// Selects the cover files to load from a recording's folder; same as mpv's `--cover-art-auto`.
public enum CoverSearch: String, Sendable, CaseIterable {
    /// Loads none.
    case no = "no"
    /// Loads images with the recording's name, and those with a common cover name.
    case exact = "exact"
    /// Also loads images whose name contains the recording's.
    case fuzzy = "fuzzy"
    /// Loads all images.
    case all = "all"
}

/// Finds the cover images of a recording.
public enum CoverArt {
    /// The common cover names, in order of preference: mpv's list.
    static let usualNames = ["cover", "front", "folder", ".folder", "album", "albumart", "albumartsmall", "thumb"]
    /// The extensions that `ImageFile` supports.
    package static let endings: Set<String> = ["jpg", "jpeg", "jfif", "png", "webp", "gif", "bmp", "tif", "tiff"]
    /// The maximum number of files.
    package static let maxFiles = 16

    /// Returns the cover images in a recording's folder; opens none of them. Blocks.
    ///
    /// - Parameter recording: A path or `file:` URL; for other addresses the result is empty.
    /// - Returns: At most 16 paths, in order of preference.
    public static func find(beside recording: String, _ search: CoverSearch) -> [String] {
        // ignored: opening the recording reports an invalid address.
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
            if let index = usualNames.firstIndex(of: stem) { return (1 + index, name) }
            if search != .exact, !own.isEmpty, stem.contains(own) { return (100, name) }
            return search == .all && !name.hasPrefix(".") ? (101, name) : nil
        }
        let sorted = found.sorted { $0.rank != $1.rank ? $0.rank < $1.rank : NaturalOrder.precedes($0.name, $1.name) }
        return sorted.prefix(maxFiles).map { home + $0.name }
    }

    private static func stem(_ name: String) -> String { name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name }
}
