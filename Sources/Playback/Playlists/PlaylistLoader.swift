internal import Glibc
package import MediaCore
internal import MediaFiles
internal import Storage

/// Turns what was named on the command line into films: playlists are opened, and the playlists in them. Bounded in
/// bytes, films and depth.
package struct PlaylistLoader {
    /// A film to play.
    package struct Item: Hashable, Sendable {
        /// A path, an address, or `-`.
        package var address: String
        /// What a playlist calls it.
        package var title: String?
        /// Which of the files that had this name one after another, where somebody watches them; nil otherwise.
        package var edition: FileEdition?

        package init(address: String, title: String? = nil) { (self.address, self.title) = (address, title) }
    }

    /// More films than anybody plays in one evening.
    package static let mostItems = 10_000
    /// A playlist in a playlist in a playlist …
    static let deepestNesting = 8
    /// Playlists opened in all: lists of lists that name nothing must end, too.
    static let mostPlaylists = 500
    /// Entries that are left out and told one by one.
    static let mostTold = 5
    /// Bytes of one playlist: ten thousand locations of four hundred characters.
    package static let largestFile = 4 << 20

    package private(set) var items: [Item] = []
    /// What was left out, for people.
    package private(set) var warnings: [String] = []
    /// Words that name nothing that can be opened, among others that do.
    package private(set) var failures: [TalkieError] = []
    /// The folders that were looked into, and those of playlists: a change in one of them may change the films.
    package private(set) var folders: Set<String> = []
    private var playlists = 0
    private var leftOut = 0

    /// - Throws: status 66 when a file named cannot be opened, when a playlist contains itself, or when nothing is
    ///   left to play.
    package init(_ words: [String]) throws(TalkieError) {
        for word in words {
            let path = Self.localPath(of: word)
            if let path, MediaFolder.isFolder(path) {
                if let objection = addFolder(path) {
                    if words.count == 1 { throw objection }
                    failures.append(objection)
                }
                continue
            }
            if let objection = InputCheck.objection(to: path ?? word) {
                // One bad name among several costs only itself.
                if words.count == 1 { throw objection }
                failures.append(objection)
                continue
            }
            if let path, try load(path, ancestors: []) { continue }
            add(Item(address: path ?? word))
        }
        guard items.isEmpty else { return }
        throw Self.failure(
            warnings.count == 1
                ? warnings[0]
                : words.count == 1 ? "'\(words[0])' names no film" : "nothing of what was named can be played")
    }

    /// Whether a word names a folder, which is played as the list of what lies in it.
    package static func isFolder(_ word: String) -> Bool { localPath(of: word).map(MediaFolder.isFolder) ?? false }

    /// The next episode of a film: the file beside it whose name has a higher number.
    package static func episode(after item: Item) -> Item? {
        guard !InputCheck.isAddress(item.address), item.address != "-" else { return nil }
        return MediaFolder.next(after: item.address).map { Item(address: $0) }
    }

    /// Adds what lies in a folder; why that is nothing, otherwise.
    private mutating func addFolder(_ path: String) -> TalkieError? {
        let folder = MediaFolder(path, most: Self.mostItems - items.count)
        warnings += folder.warnings.prefix(Self.mostTold)
        folders.formUnion(folder.folders)
        // "./" keeps a folder named "-" from leading to standard input.
        for file in folder.files { add(Item(address: file.hasPrefix("-") ? "./" + file : file)) }
        guard folder.files.isEmpty else { return nil }
        return Self.failure(
            "the folder '\(path)' holds neither films nor recordings, nor pictures; name a file to play it whatever its name"
        )
    }

    /// The path that a word names, when it names a file.
    private static func localPath(of word: String) -> String? {
        if word == "-" { return nil }
        if word.lowercased().hasPrefix("file://") {
            // RFC 8089: no host, or this one.
            var path = word.dropFirst(7)
            if path.hasPrefix("localhost/") { path = path.dropFirst(9) }
            return PlaylistText.removingPercentEncoding(String(path))
        }
        return InputCheck.isAddress(word) ? nil : word
    }

    private mutating func add(_ item: Item) {
        if items.count < Self.mostItems { items.append(item) }
    }

    /// The first few are told one by one.
    private mutating func leaveOut(_ what: String, _ why: String) {
        leftOut += 1
        if leftOut <= Self.mostTold {
            warnings.append(
                "\(why): '\(PrintableText.withoutCredentials(what))' is left out; name it yourself to play it")
        } else if leftOut == Self.mostTold + 1 {
            warnings.append("more of the list is left out for the same reasons")
        }
    }

    private static func failure(_ message: String) -> TalkieError {
        TalkieError(.cannotOpen, message)
    }

    // MARK: Files

    /// Names a file whatever way leads to it.
    private struct Identity: Hashable {
        package var device: UInt
        package var number: UInt
    }

    /// Adds what a playlist names; false when the file is no playlist.
    private mutating func load(_ path: String, ancestors: [Identity]) throws(TalkieError) -> Bool {
        guard let (text, identity) = Self.read(path), let format = PlaylistFormat(name: path, text: text) else {
            return false
        }
        let sheet = format == .cue ? CueSheet(text) : nil
        // Of a single file, whose chapters are in the sheet: `MediaFile` reads both.
        if let sheet, sheet.files.count < 2 { return false }
        if ancestors.contains(identity) {
            throw Self.failure("the playlist '\(path)' contains itself; take that line out")
        }
        guard ancestors.count < Self.deepestNesting else {
            throw Self.failure(
                "the playlist '\(path)' lies more than \(Self.deepestNesting) playlists deep; name the films themselves"
            )
        }
        playlists += 1
        guard playlists <= Self.mostPlaylists else {
            throw Self.failure("these are more than \(Self.mostPlaylists) playlists; name the films themselves")
        }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        folders.insert(folder.isEmpty ? "." : folder.count > 1 ? String(folder.dropLast()) : folder)
        let entries = format.entries(in: text, limit: Self.mostItems + 1)
        if items.count + entries.count > Self.mostItems {
            warnings.append("the playlist '\(path)' is too long; only the first \(Self.mostItems) films are played")
        }
        for (index, entry) in entries.enumerated() {
            guard items.count < Self.mostItems else { break }
            if let sheet {
                do throws(MediaError) {
                    add(Item(address: try CueSheet.locate(sheet.files[index], beside: path), title: entry.title))
                } catch {
                    warnings.append(error.message)
                }
                continue
            }
            if let path = Self.localPath(of: entry.location) ?? (entry.location == "-" ? "-" : nil) {
                // "./" keeps a file named "-" from being standard input.
                let full = path.hasPrefix("/") ? path : (folder.isEmpty ? "./" : folder) + path
                if PlaylistFormat.isLikely(name: full), try load(full, ancestors: ancestors + [identity]) { continue }
                if let objection = ListedAddress.objection(toPath: full) {
                    leaveOut(full, objection)
                    continue
                }
                add(Item(address: full, title: entry.title))
            } else if let objection = ListedAddress.objection(toAddress: entry.location) {
                leaveOut(entry.location, objection)
            } else {
                add(Item(address: entry.location, title: entry.title))
            }
        }
        return true
    }

    /// The whole of a regular file that is small enough to be a playlist.
    ///
    /// Films are recognised by their size or their first bytes, so that they are not read twice.
    private static func read(_ path: String) -> ([UInt8], Identity)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= largestFile else {
            return nil
        }
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
            while count < buffer.count {
                let wanted = count == 0 ? min(buffer.count, 4096) : buffer.count - count
                let piece = Glibc.read(descriptor, buffer.baseAddress! + count, wanted)
                if piece < 0 && errno == EINTR { continue }
                guard piece > 0 else { break }
                count += piece
                // A film has zeros in its head; a playlist never.
                if count == piece, UnsafeRawBufferPointer(start: buffer.baseAddress, count: piece).contains(0) {
                    count = 0
                    break
                }
            }
        }
        return bytes.isEmpty ? nil : (bytes, Identity(device: UInt(status.st_dev), number: UInt(status.st_ino)))
    }
}
