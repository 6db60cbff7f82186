internal import Glibc
internal import MediaCore
internal import MediaFiles

/// The films and recordings in a folder and those below it, in natural order, as mpv plays them: files and folders among one another,
/// without hidden ones. By their names alone; nothing is opened.
struct MediaFolder {
    /// Folders in folders.
    static let deepest = 20
    /// Names looked at in all: a folder of a million pictures must not hold the start up.
    static let mostNames = 50_000

    /// Films and recordings; where there is neither, pictures.
    private(set) var files: [String] = []
    /// What could not be looked into, for people.
    private(set) var warnings: [String] = []
    /// The folder itself and those below it.
    private(set) var folders: [String] = []
    private var pictures: [String] = []
    private var names = 0
    private var isFull = false
    private let most: Int

    /// - Parameters:
    ///   - path: of the folder, which comes before each name.
    ///   - most: files that are wanted.
    init(_ path: String, most: Int) {
        self.most = most
        look(into: path, inside: [])
        if files.isEmpty { files = pictures }
        if isFull { warnings.append("the folder '\(path)' holds too much; only a part of it is played") }
    }

    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The file behind another one in its folder that has the same name with a higher number: the next episode. Nil when there is none.
    static func next(after path: String) -> String? {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[...$0]) } ?? ""
        let own = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard isMedia(own), let names = Self.names(in: folder.isEmpty ? "." : folder, most: mostNames)?.names else {
            return nil
        }
        let later = names.filter { isMedia($0) && NaturalOrder.continues(own, with: $0) && !isFolder(folder + $0) }
        return later.min(by: NaturalOrder.precedes).map { folder + $0 }
    }

    /// Names a folder whatever way leads to it.
    private struct Identity: Hashable {
        var device: UInt
        var number: UInt
    }

    private mutating func look(into path: String, inside ancestors: [Identity]) {
        var status = stat()
        guard ancestors.count < Self.deepest, stat(path, &status) == 0 else { return }
        let identity = Identity(device: UInt(status.st_dev), number: UInt(status.st_ino))
        // A link that leads back.
        guard !ancestors.contains(identity) else { return }
        folders.append(path)
        guard let (found, isCut) = Self.names(in: path, most: Self.mostNames - names) else {
            warnings.append("the folder '\(path)' cannot be looked into (\(SystemCause.text(errno)))")
            return
        }
        names += found.count
        if isCut { isFull = true }
        for name in found.sorted(by: NaturalOrder.precedes) {
            guard files.count < most else { return isFull = true }
            let full = path.hasSuffix("/") ? path + name : path + "/" + name
            if Self.isFolder(full) {
                look(into: full, inside: ancestors + [identity])
            } else if Self.isMedia(name) {
                files.append(full)
            } else if Self.isPicture(name), pictures.count < most {
                pictures.append(full)
            }
        }
    }

    /// What is in a folder and not hidden, in no order; nil with errno set when it cannot be read.
    private static func names(in path: String, most: Int) -> (names: [String], isCut: Bool)? {
        guard let handle = opendir(path) else { return nil }
        defer { closedir(handle) }
        var names: [String] = []
        while let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(".") { continue }
            guard names.count < most else { return (names, true) }
            names.append(name)
        }
        return (names, false)
    }

    private static func isMedia(_ name: String) -> Bool { ending(of: name).map(endings.contains) ?? false }
    private static func isPicture(_ name: String) -> Bool { ending(of: name).map(CoverArt.endings.contains) ?? false }

    private static func ending(of name: String) -> String? {
        name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() }
    }

    /// Of names that films and recordings have. What has none of these is named itself to be played.
    private static let endings: Set<String> = Set(
        """
        3g2 3gp asf avi divx dv flv f4v m2t m2ts m2v m4v mk3d mkv mov mp4 mpeg mpg mts mxf nut ogm ogv qt rm rmvb ts vob webm wmv y4m
        aac ac3 ac4 aif aiff alac ape au caf dsf dts eac3 flac m4a m4b mka mlp mp1 mp2 mp3 mpc oga ogg opus ra spx tak thd tta wav wma wv
        """.split(whereSeparator: \.isWhitespace).map(String.init))
}
