internal import Glibc
package import MediaCore
internal import MediaFiles
internal import Storage

/// Resolves command-line arguments to items: expands folders and playlists, including nested ones. Bounded in bytes,
/// items and depth.
package struct PlaylistLoader {
    /// An item to play.
    package struct Item: Hashable, Sendable {
        /// A path, an address, or `-`.
        package var address: String
        /// The title in the playlist.
        package var title: String?
        /// The version of a watched file; nil otherwise.
        package var edition: FileEdition?
        /// Whether a playlist or another program names it: of local files only regular ones are opened.
        package var isListed = false

        /// Creates an item without a version.
        package init(address: String, title: String? = nil, isListed: Bool = false) {
            (self.address, self.title, self.isListed) = (address, title, isListed)
        }

        /// Creates the item to which an item of a playlist refers.
        package init(_ item: QueueItem) {
            (address, title, edition, isListed) = (item.address, item.title, item.edition, item.isListed)
        }
    }

    /// The maximum number of items.
    static let maxItems = 10_000
    /// The maximum nesting of playlists.
    static let deepestNesting = 8
    /// The maximum number of playlists: nested playlists without items must terminate.
    static let maxPlaylists = 500
    /// The maximum number of skipped entries reported individually.
    static let maxReported = 5
    /// The maximum size of a playlist in bytes: ten thousand locations of four hundred characters.
    static let largestFile = 4 << 20
    /// The maximum size of all playlists together: a list may name another one many times.
    static let maxBytes = 8 << 20
    /// The maximum number of lines of all playlists together.
    static let maxLines = 250_000

    /// The items in order.
    package private(set) var items: [Item] = []
    /// Messages for the user about skipped entries.
    package private(set) var warnings: [String] = []
    /// The errors of arguments that cannot be opened, if others can.
    package private(set) var failures: [TalkieError] = []
    /// The folders that were read, and those of playlists: a change in them may change the items.
    package private(set) var folders: Set<String> = []
    /// The number of playlists and of their bytes, all together.
    private var playlists = 0
    private var budget = WorkBudget(Self.maxBytes)
    private var lines = 0
    private let readBytes: FileBytes.Read?
    private var leftOut = 0

    /// Resolves arguments; blocks on the disk.
    ///
    /// - Parameters:
    ///   - isListed: Whether another program names the arguments; they are checked like the entries of a playlist.
    ///   - read: Replaces read(2) in tests.
    /// - Throws: `cannotOpen` or `notPermitted` if the only argument cannot be opened. `cannotOpen` if a playlist
    ///   contains itself or exceeds a limit, or if there are no items.
    package init(
        _ words: [String], isListed: Bool = false, by read: FileBytes.Read? = nil
    ) throws(TalkieError) {
        readBytes = read
        for word in words {
            let path = Self.localPath(of: word)
            if isListed,
                let why = path.map(ListedAddress.objection(toPath:)) ?? ListedAddress.objection(toAddress: word)
            {
                throw TalkieError(
                    .notPermitted,
                    "\(why): '\(PrintableText.withoutCredentials(word))' is refused; specify it on the command line to play it"
                )
            }
            if let path, MediaFolder.isFolder(path) {
                if let objection = addFolder(path, isListed: isListed) {
                    if words.count == 1 { throw objection }
                    failures.append(objection)
                }
                continue
            }
            if let objection = InputCheck.objection(to: path ?? word) {
                // One invalid argument among several does not affect the others.
                if words.count == 1 { throw objection }
                failures.append(objection)
                continue
            }
            if let path, try load(path, ancestors: []) { continue }
            add(Item(address: path ?? word, isListed: isListed))
        }
        guard items.isEmpty else { return }
        if words.count == 1, warnings.count == 1 { throw Self.failure(warnings[0]) }
        let reason = (warnings.first ?? failures.first?.message).map { " (\($0))" } ?? ""
        let name = PrintableText.withoutCredentials(words.first ?? "")
        throw Self.failure(
            (words.count == 1 ? "'\(name)' contains no films" : "none of the given files can be played") + reason)
    }

    /// Returns true if an argument names a folder, which is played as a list of its files.
    package static func isFolder(_ word: String) -> Bool { localPath(of: word).map(MediaFolder.isFolder) ?? false }

    /// Returns the next episode: the file in the same folder whose name has a higher number; nil if there is none.
    package static func episode(after item: Item) -> Item? {
        guard !InputCheck.isAddress(item.address), item.address != "-" else { return nil }
        return MediaFolder.next(after: item.address).map { Item(address: $0) }
    }

    /// Adds the files of a folder; returns an error if there are none.
    ///
    /// - Parameter isListed: Whether only regular files are opened.
    private mutating func addFolder(_ path: String, isListed: Bool) -> TalkieError? {
        let folder = MediaFolder(path, maxItems: Self.maxItems - items.count)
        warnings += folder.warnings.prefix(Self.maxReported)
        folders.formUnion(folder.folders)
        // "./" keeps a folder named "-" from being parsed as standard input.
        for file in folder.files {
            add(Item(address: file.hasPrefix("-") ? "./" + file : file, isListed: isListed))
        }
        guard folder.files.isEmpty else { return nil }
        return Self.failure(
            "the folder '\(path)' contains no films, recordings or pictures; specify a file to play it regardless of its name"
        )
    }

    /// Returns the path of an argument that names a file; nil for other addresses.
    private static func localPath(of word: String) -> String? {
        if word == "-" { return nil }
        if word.lowercased().hasPrefix("file://") {
            // RFC 8089: no host, or the local one.
            var path = word.dropFirst(7)
            if path.hasPrefix("localhost/") { path = path.dropFirst(9) }
            return PlaylistText.removingPercentEncoding(String(path))
        }
        return InputCheck.isAddress(word) ? nil : word
    }

    /// Returns what a path in a playlist may mean: first as written; then percent-encoded, as VLC writes it; each with
    /// backslashes, as programs for Windows write it, and in Latin-1.
    private static func readings(of path: String) -> [String] {
        var readings = [path]
        if path.utf8.contains(UInt8(ascii: "%")) { readings.append(PlaylistText.removingPercentEncoding(path)) }
        if path.utf8.contains(UInt8(ascii: "\\")) {
            readings += readings.map { String($0.map { $0 == "\\" ? "/" : $0 }) }
        }
        readings += readings.filter(FileName.hasEscapes).map { PlaylistText.decoded(FileName.bytes($0)) }
        return readings
    }

    private mutating func add(_ item: Item) {
        if items.count < Self.maxItems { items.append(item) }
    }

    /// Skips an entry; only the first few are reported individually.
    private mutating func leaveOut(_ what: String, _ why: String) {
        leftOut += 1
        if leftOut <= Self.maxReported {
            warnings.append(
                "\(why): '\(PrintableText.withoutCredentials(what))' is skipped; specify it on the command line to play it"
            )
        } else if leftOut == Self.maxReported + 1 {
            warnings.append("more entries of the list are skipped for the same reasons")
        }
    }

    private static func failure(_ message: String) -> TalkieError {
        TalkieError(.cannotOpen, message)
    }

    // MARK: Files

    /// Identifies a file independently of its path.
    private struct Identity: Hashable {
        var device: UInt
        var number: UInt
    }

    /// Adds the entries of a playlist; returns false if the file is not one.
    private mutating func load(_ path: String, ancestors: [Identity]) throws(TalkieError) -> Bool {
        guard let (text, identity) = try read(path), let format = PlaylistFormat(name: path, text: text) else {
            return false
        }
        let sheet = format == .cue ? CueSheet(text) : nil
        // A sheet of a single file contains its chapters; `MediaFile` reads both.
        if let sheet, sheet.files.count < 2 { return false }
        if ancestors.contains(identity) {
            throw Self.failure("the playlist '\(path)' contains itself; remove that line")
        }
        lines += PlaylistText.lineCount(of: text)
        guard lines <= Self.maxLines else {
            throw Self.failure(
                "the playlists have more than \(Self.maxLines) lines together; specify the films themselves")
        }
        guard ancestors.count < Self.deepestNesting else {
            throw Self.failure(
                "the playlist '\(path)' is nested more than \(Self.deepestNesting) playlists deep; specify the films themselves"
            )
        }
        playlists += 1
        guard playlists <= Self.maxPlaylists else {
            throw Self.failure("there are more than \(Self.maxPlaylists) playlists; specify the films themselves")
        }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        folders.insert(folder.isEmpty ? "." : folder.count > 1 ? String(folder.dropLast()) : folder)
        let entries = format.entries(in: text, limit: Self.maxItems + 1)
        if items.count + entries.count > Self.maxItems {
            warnings.append("the playlist '\(path)' is too long; only the first \(Self.maxItems) films are played")
        }
        for (index, entry) in entries.enumerated() {
            guard items.count < Self.maxItems else { break }
            if let sheet {
                do throws(MediaError) {
                    let file = try CueSheet.locate(sheet.files[index], beside: path)
                    add(Item(address: file, title: entry.title, isListed: true))
                } catch {
                    warnings.append(error.message)
                }
                continue
            }
            if let path = Self.localPath(of: entry.location) ?? (entry.location == "-" ? "-" : nil) {
                // "./" keeps a file named "-" from being parsed as standard input.
                let base = folder.isEmpty ? "./" : folder
                let candidates = Self.readings(of: path).map { $0.hasPrefix("/") ? $0 : base + $0 }
                let full = candidates.first { InputCheck.exists($0) } ?? candidates[0]
                if PlaylistFormat.isLikely(name: full), try load(full, ancestors: ancestors + [identity]) { continue }
                if let objection = ListedAddress.objection(toPath: full) {
                    leaveOut(full, objection)
                    continue
                }
                add(Item(address: full, title: entry.title, isListed: true))
            } else if let objection = ListedAddress.objection(toAddress: entry.location) {
                leaveOut(entry.location, objection)
            } else {
                add(Item(address: entry.location, title: entry.title, isListed: true))
            }
        }
        return true
    }

    /// Reads a regular file that is small enough to be a playlist; nil otherwise.
    ///
    /// Media files are detected by their size or their first bytes, so that they are not read twice.
    ///
    /// - Throws: `cannotOpen` if a playlist cannot be read completely, or beyond the limit for all playlists.
    private mutating func read(_ path: String) throws(TalkieError) -> ([UInt8], Identity)? {
        let descriptor = FileBytes.openRegular(path)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size <= Self.largestFile else { return nil }
        var bytes: [UInt8] = []
        do throws(FileBytes.Failure) {
            bytes = try FileBytes.read(descriptor, maxBytes: 4096, by: readBytes)
            // Media files have zero bytes in their header; playlists have none.
            guard !bytes.isEmpty, !bytes.contains(0) else { return nil }
            if status.st_size > bytes.count {
                bytes += try FileBytes.read(descriptor, maxBytes: Self.largestFile - bytes.count, by: readBytes)
            }
        } catch {
            guard PlaylistFormat(name: path, text: bytes) != nil else { return nil }
            throw Self.failure(
                "the playlist '\(path)' cannot be read (\(SystemCause.text(error.code))); copy or download it again")
        }
        do throws(WorkBudget.Exceeded) { try budget.spend(bytes.count) } catch {
            throw Self.failure(
                "the playlists are larger than \(Self.maxBytes >> 20) MB together; specify the films themselves")
        }
        return (bytes, Identity(device: UInt(status.st_dev), number: UInt(status.st_ino)))
    }
}
