internal import Glibc
internal import MediaCore
internal import MediaFiles

/// The media files in a folder and its subfolders in natural order, files and folders mixed, as mpv plays them. Hidden
/// ones and those of the system are skipped. Selected by name only; no file is opened.
struct MediaFolder {
    /// The maximum depth of subfolders.
    static let deepest = 20
    /// The maximum number of names read: a folder with a million images must not delay the start.
    static let maxNames = 50_000

    /// Video and audio files; images if there are none.
    private(set) var files: [String] = []
    /// Messages for the user about folders that could not be read.
    private(set) var warnings: [String] = []
    /// The folder and its subfolders.
    private(set) var folders: [String] = []
    private var images: [String] = []
    private var names = 0
    private var isFull = false
    private let maxItems: Int

    /// Reads a folder; blocks on the disk.
    ///
    /// - Parameters:
    ///   - path: The path of the folder, which prefixes each name.
    ///   - maxItems: The maximum number of files.
    init(_ path: String, maxItems: Int) {
        self.maxItems = maxItems
        scan(into: path, inside: [])
        if files.isEmpty { files = images }
        if isFull { warnings.append("the folder '\(path)' contains too many files; only a part of it is played") }
    }

    /// Returns true if the path is a folder. Blocks on the disk.
    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path.systemPath, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the next episode: the file in the same folder that has the same name with a higher number. Nil if there
    /// is none. Blocks on the disk.
    static func next(after path: String) -> String? {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[...$0]) } ?? ""
        let own = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard isMedia(own), let names = Self.names(in: folder.isEmpty ? "." : folder, maxCount: maxNames)?.names else {
            return nil
        }
        let later = names.filter { isMedia($0) && NaturalOrder.continues(own, with: $0) && !isFolder(folder + $0) }
        return later.min(by: NaturalOrder.precedes).map { folder + $0 }
    }

    /// Identifies a folder independently of its path.
    private struct Identity: Hashable {
        var device: UInt
        var number: UInt
    }

    private mutating func scan(into path: String, inside ancestors: [Identity]) {
        var status = stat()
        guard ancestors.count < Self.deepest, stat(path.systemPath, &status) == 0 else { return }
        let identity = Identity(device: UInt(status.st_dev), number: UInt(status.st_ino))
        // A symbolic link to an ancestor.
        guard !ancestors.contains(identity) else { return }
        folders.append(path)
        guard let (found, isCut) = Self.names(in: path, maxCount: Self.maxNames - names) else {
            warnings.append("the folder '\(path)' cannot be read (\(SystemCause.text(errno)))")
            return
        }
        names += found.count
        if isCut { isFull = true }
        for name in found.sorted(by: NaturalOrder.precedes) {
            guard files.count < maxItems else { return isFull = true }
            let full = path.hasSuffix("/") ? path + name : path + "/" + name
            if Self.isFolder(full) {
                scan(into: full, inside: ancestors + [identity])
            } else if Self.isMedia(name) {
                files.append(full)
            } else if Self.isImage(name), images.count < maxItems {
                images.append(full)
            }
        }
    }

    /// Returns the names in a folder without hidden ones and those of the system, unsorted; nil with errno set if it
    /// cannot be read.
    private static func names(in path: String, maxCount: Int) -> (names: [String], isCut: Bool)? {
        var (names, isCut) = ([String](), false)
        let isRead = FolderEntries.forEachName(in: path) { name in
            if isSystemEntry(name) { return true }
            isCut = names.count >= maxCount
            if !isCut { names.append(name) }
            return !isCut
        }
        return isRead ? (names, isCut) : nil
    }

    /// Whether a name is hidden, a folder of the system (deleted files, repaired ones, indices, resource forks), or a
    /// lock file of an opened document.
    private static func isSystemEntry(_ name: String) -> Bool {
        name.hasPrefix(".") || name.hasPrefix("~$") || systemFolders.contains(name.lowercased())
    }

    /// Names that Windows, macOS, ext4, Synology and QNAP create.
    private static let systemFolders: Set<String> = [
        "$recycle.bin", "recycler", "recycled", "system volume information", "__macosx", "lost+found", "found.000",
        "@eadir", "#recycle", "@recycle",
    ]

    private static func isMedia(_ name: String) -> Bool { ending(of: name).map(endings.contains) ?? false }
    private static func isImage(_ name: String) -> Bool { ending(of: name).map(CoverArt.endings.contains) ?? false }

    private static func ending(of name: String) -> String? {
        name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() }
    }

    /// File name extensions of video and audio. Files without one of these must be named explicitly.
    private static let endings: Set<String> = Set(
        """
        3g2 3gp asf avi divx dv flv f4v m2t m2ts m2v m4v mk3d mkv mov mp4 mpeg mpg mts mxf nut ogm ogv qt rm rmvb ts vob webm wmv y4m
        aac ac3 ac4 aif aiff alac ape au caf dsf dts eac3 flac m4a m4b mka mlp mp1 mp2 mp3 mpc oga ogg opus ra spx tak thd tta wav wma wv
        """.split(whereSeparator: \.isWhitespace).map(String.init))
}
