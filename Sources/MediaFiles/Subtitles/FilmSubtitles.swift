internal import Glibc
internal import MediaCore

/// Selects the subtitle files to load from a film's folder; same as mpv's `--sub-auto`.
public enum SubtitleSearch: String, Sendable, CaseIterable {
    /// Loads none.
    case no = "no"
    /// Loads files with the film's name, optionally followed by a language, `forced` or `sdh`. In subtitle folders also
    /// a folder with the film's name, and names that are only a language if the film is alone in its folder.
    case exact = "exact"
    /// Loads files whose name contains the film's. In subtitle folders also names that are only a language, and a
    /// folder with the film's name.
    case fuzzy = "fuzzy"
    /// Loads all subtitle files.
    case all = "all"
}

/// A subtitle file for a film and the properties derived from its name. The file has not been opened.
public struct FoundSubtitles: Sendable, Hashable {
    /// The path of the file.
    public var path: String
    /// The language as written in the name: `en`, `pt-BR`.
    public var language: String?
    /// The rest of the name, if any.
    public var title: String?
    /// Whether the name contains `forced` or `foreign`.
    public var isForced: Bool
    /// Whether the name marks subtitles for the hearing impaired, such as `sdh`.
    public var isForHearingImpaired: Bool
    /// Whether the file is shown by default: it has exactly the film's name, or the user specified it.
    package var isMeant: Bool
    /// Whether the user specified it.
    public private(set) var isUserProvided = false

    /// Creates an entry for a user-provided file.
    public init(naming path: String) {
        let file = path.split(separator: "/").last ?? ""
        let stem = file.lastIndex(of: ".").map { file[..<$0] } ?? file
        // The film's name precedes the last words.
        let fields = stem.split(separator: ".")
        self.init(path, SubtitleName(fields.dropFirst().suffix(3).joined(separator: ".")), isMeant: true)
        title = nil
        isUserProvided = true
    }

    init(_ path: String, _ name: SubtitleName, isMeant: Bool) {
        self.path = path
        (language, title) = (name.language, name.title)
        (isForced, isForHearingImpaired) = (name.isForced, name.isForHearingImpaired)
        self.isMeant = isMeant
    }
}

/// Finds the subtitle files of a film.
public enum FilmSubtitles {
    /// Common names of subtitle folders inside the film's folder; found in any case.
    public static let usualFolders = ["Subs", "Sub", "Subtitles"]
    /// The maximum number of files.
    package static let maxFiles = 64
    private static let maxEntries = 20_000

    /// The file extensions that other players accept, as far as libavformat reads them.
    private static let endings: Set<String> = [
        "srt", "ass", "ssa", "vtt", "idx", "sub", "sup", "pgs", "smi", "rt", "mks", "scc", "lrc", "utf", "utf8",
        "utf-8",
        "jss", "mpl", "aqt", "pjs", "stl",
    ]

    /// Extensions of other films in a folder.
    private static let filmEndings: Set<String> = [
        "mkv", "mp4", "m4v", "avi", "mov", "webm", "ts", "m2ts", "mts", "mpg", "mpeg", "wmv", "flv", "ogv", "vob",
    ]

    /// Returns the subtitle files of a film by listing folders; opens none of them. Blocks.
    ///
    /// - Parameters:
    ///   - film: A path or `file:` URL; for other addresses the result is empty.
    ///   - folders: Further folders, relative to the film's own.
    /// - Returns: At most 64 files in natural order, those of the film's own folder first.
    public static func find(
        beside film: String, _ search: SubtitleSearch, folders: [String] = usualFolders
    ) -> [FoundSubtitles] {
        // ignored: opening the film reports an invalid address.
        guard search != .no, let address = try? InputAddress(film), address.kind == .file else { return [] }
        let slash = address.path.lastIndex(of: "/")
        let home = slash.map { String(address.path[...$0]) } ?? "./"
        let file = slash.map { address.path[address.path.index(after: $0)...] } ?? address.path[...]
        let stem = (file.lastIndex(of: ".").map { file[..<$0] } ?? file).lowercased()
        guard !stem.isEmpty else { return [] }
        var found = Self.found(in: home, of: stem, search, acceptsLanguages: false)
        let siblings = names(in: home)
        let films = siblings.count { filmEndings.contains(ending(of: $0)) }
        for path in paths(of: folders, in: home, siblings) {
            found += Self.found(
                in: path, of: stem, search, acceptsLanguages: search == .fuzzy || search == .exact && films <= 1)
            let own = names(in: path).filter { $0.lowercased() == stem }
            for name in own { found += Self.found(in: path + name + "/", of: stem, .all, acceptsLanguages: true) }
        }
        var seen: Set<String> = [address.path]
        return Array(found.filter { seen.insert($0.path).inserted }.prefix(maxFiles))
    }

    /// Returns the paths of the existing folders in `home`, whose contents are `siblings`; each ends with a slash.
    private static func paths(of folders: [String], in home: String, _ siblings: [String]) -> [String] {
        folders.filter { !$0.isEmpty }.flatMap { folder in
            if folder.contains("/") || folder.hasPrefix(".") {
                return [(folder.hasPrefix("/") ? folder : home + folder) + "/"]
            }
            let name = folder.lowercased()
            return siblings.filter { $0.lowercased() == name }.sorted().map { home + $0 + "/" }
        }
    }

    private static func ending(of name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }

    private static func found(
        in folder: String, of film: String, _ search: SubtitleSearch, acceptsLanguages: Bool
    ) -> [FoundSubtitles] {
        let files = names(in: folder).compactMap { name -> (name: String, stem: String)? in
            let ending = ending(of: name)
            return endings.contains(ending) ? (name, String(name.dropLast(ending.count + 1))) : nil
        }
        let indices = Set(files.filter { $0.name.lowercased().hasSuffix(".idx") }.map { $0.stem })
        return files.filter { !($0.name.lowercased().hasSuffix(".sub") && indices.contains($0.stem)) }
            .sorted { one, other in
                // Those of the film precede others of the folder.
                let (own, others) = (one.stem.lowercased().hasPrefix(film), other.stem.lowercased().hasPrefix(film))
                return own == others ? NaturalOrder.precedes(one.stem, other.stem) : own
            }
            .compactMap { entry in
                let stem = entry.stem.lowercased()
                if stem == film { return FoundSubtitles(folder + entry.name, SubtitleName(""), isMeant: true) }
                let follows = stem.hasPrefix(film) && !(stem.dropFirst(film.count).first?.isLetter ?? false)
                let said = SubtitleName(follows ? entry.stem.dropFirst(film.count) : entry.stem[...])
                let isLanguage = acceptsLanguages && said.isPlain
                let fits =
                    switch search {
                    case .no: false
                    case .exact: follows && said.isPlain && hasSeparator(stem.dropFirst(film.count)) || isLanguage
                    case .fuzzy: stem.contains(film) || isLanguage
                    case .all: true
                    }
                return fits ? FoundSubtitles(folder + entry.name, said, isMeant: false) : nil
            }
    }

    /// Whether the name continues with a separator: `film2.srt` belongs to another film than `film.mkv`.
    private static func hasSeparator(_ rest: Substring) -> Bool { rest.first.map { !$0.isNumber } ?? false }

    /// Returns the names in a folder, unordered and at most `maxEntries`.
    static func names(in folder: String, withHidden: Bool = false) -> [String] {
        var names: [String] = []
        FolderEntries.forEachName(in: folder) { name in
            if withHidden || !name.hasPrefix(".") { names.append(name) }
            return names.count < maxEntries
        }
        return names
    }
}
