internal import Glibc
internal import MediaCore

/// Which files beside a film are taken for its subtitles, as mpv's `--sub-auto` has it.
public enum SubtitleSearch: String, Sendable, CaseIterable {
    /// None.
    case no
    /// Those with the film's name, and a language or `forced`, `sdh` behind it.
    case exact
    /// Those whose name contains the film's; and in folders for subtitles, a language alone, and a folder with the film's name.
    case fuzzy
    /// Every file of subtitles.
    case all
}

/// A file of subtitles for a film, and what its name says. It has not been opened.
public struct FoundSubtitles: Sendable, Hashable {
    public var path: String
    /// As the name has it: `en`, `pt-BR`.
    public var language: String?
    public var title: String?
    public var isForced: Bool
    public var isForHearingImpaired: Bool
    /// To be shown unless a language is asked for: it has exactly the film's name, or somebody named it.
    public var isMeant: Bool

    /// A file that somebody named.
    public init(naming path: String) {
        let file = path.split(separator: "/").last ?? ""
        let stem = file.lastIndex(of: ".").map { file[..<$0] } ?? file
        // Before the last words lies the name of some film.
        let words = stem.split(separator: ".")
        self.init(path, SubtitleName(words.dropFirst().suffix(3).joined(separator: ".")), isMeant: true)
        title = nil
    }

    init(_ path: String, _ name: SubtitleName, isMeant: Bool) {
        self.path = path
        (language, title) = (name.language, name.title)
        (isForced, isForHearingImpaired) = (name.isForced, name.isForHearingImpaired)
        self.isMeant = isMeant
    }
}

/// Finds the files of subtitles that lie beside a film.
public enum FilmSubtitles {
    /// Folders in the film's that often hold subtitles.
    public static let usualFolders = ["Subs", "subs", "Subtitles", "subtitles"]
    /// More are not taken.
    public static let mostFiles = 64
    private static let mostEntries = 20_000

    /// Those that other players take, of what libavformat knows.
    private static let endings: Set<String> = [
        "srt", "ass", "ssa", "vtt", "idx", "sub", "sup", "pgs", "smi", "rt", "mks", "scc", "lrc", "utf", "utf8",
        "utf-8",
        "jss", "mpl", "aqt", "pjs", "stl",
    ]

    /// Looks into folders and opens nothing. Blocks while a disk answers.
    ///
    /// - Parameters:
    ///   - film: a path or `file:` URL; anything else has no files beside it.
    ///   - folders: where to look besides the film's own folder, which relative ones are in.
    /// - Returns: at most 64; those of the film's own folder first, in the order in which people number and spell.
    public static func find(
        beside film: String, _ search: SubtitleSearch, folders: [String] = usualFolders
    ) -> [FoundSubtitles] {
        // ignored: opening the film reports an address that cannot be understood.
        guard search != .no, let address = try? InputAddress(film), address.kind == .file else { return [] }
        let slash = address.path.lastIndex(of: "/")
        let home = slash.map { String(address.path[...$0]) } ?? "./"
        let file = slash.map { address.path[address.path.index(after: $0)...] } ?? address.path[...]
        let stem = (file.lastIndex(of: ".").map { file[..<$0] } ?? file).lowercased()
        guard !stem.isEmpty else { return [] }
        var found = Self.found(in: home, of: stem, search, isForSubtitles: false)
        for folder in folders where !folder.isEmpty {
            let path = (folder.hasPrefix("/") ? folder : home + folder) + "/"
            found += Self.found(in: path, of: stem, search, isForSubtitles: true)
            guard search == .fuzzy || search == .all else { continue }
            let own = names(in: path).filter { $0.lowercased() == stem }
            for name in own { found += Self.found(in: path + name + "/", of: stem, .all, isForSubtitles: true) }
        }
        var seen: Set<String> = [address.path]
        return Array(found.filter { seen.insert($0.path).inserted }.prefix(mostFiles))
    }

    private static func found(
        in folder: String, of film: String, _ search: SubtitleSearch, isForSubtitles: Bool
    ) -> [FoundSubtitles] {
        let files = names(in: folder).compactMap { name -> (name: String, stem: String)? in
            guard let dot = name.lastIndex(of: "."), dot != name.startIndex,
                endings.contains(name[name.index(after: dot)...].lowercased())
            else { return nil }
            return (name, String(name[..<dot]))
        }
        let indices = Set(files.filter { $0.name.lowercased().hasSuffix(".idx") }.map { $0.stem })
        return files.filter { !($0.name.lowercased().hasSuffix(".sub") && indices.contains($0.stem)) }
            .sorted { NaturalOrder.precedes($0.stem, $1.stem) }
            .compactMap { entry in
                let stem = entry.stem.lowercased()
                if stem == film { return FoundSubtitles(folder + entry.name, SubtitleName(""), isMeant: true) }
                let follows = stem.hasPrefix(film) && !(stem.dropFirst(film.count).first?.isLetter ?? false)
                let said = SubtitleName(follows ? entry.stem.dropFirst(film.count) : entry.stem[...])
                let fits =
                    switch search {
                    case .no: false
                    case .exact: follows && said.isPlain && hasSeparator(stem.dropFirst(film.count))
                    case .fuzzy: stem.contains(film) || (isForSubtitles && said.isPlain)
                    case .all: true
                    }
                return fits ? FoundSubtitles(folder + entry.name, said, isMeant: false) : nil
            }
    }

    /// `film2.srt` belongs to another film than `film.mkv`.
    private static func hasSeparator(_ rest: Substring) -> Bool { rest.first.map { !$0.isNumber } ?? false }

    /// What is in a folder, in no order; a bounded part of what is too much.
    static func names(in folder: String, withHidden: Bool = false) -> [String] {
        guard let entries = opendir(folder) else { return [] }
        defer { closedir(entries) }
        var names: [String] = []
        while names.count < mostEntries, let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if withHidden || !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
