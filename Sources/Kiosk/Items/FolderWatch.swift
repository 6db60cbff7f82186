internal import Glibc
internal import MediaCore

/// Hears from the kernel when something changes in folders (inotify(7)). One thread uses it.
struct FolderWatch: ~Copyable {
    /// Readable when there are news.
    let descriptor: Int32
    private var folders: [String: Int32] = [:]
    /// The kernel has one watch for all names of a folder (links).
    private var names: [Int32: Set<String>] = [:]
    /// Files that somebody began to write and has not closed.
    private(set) var unfinished: Set<String> = []
    private var hasNewFolder = false

    /// More folders than a kiosk has; what lies in further ones is found when everything is looked at again.
    static let mostFolders = 1024
    private static let mostUnfinished = 1024

    /// What may change a list of films: files that were written to their end, that came, went, or may be read now.
    private static let mask = UInt32(
        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB
    )

    /// - Throws: when the system gives no further descriptor.
    init() throws(ExhaustionError) {
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw .descriptor(errno) }
    }

    deinit { close(descriptor) }

    /// Watches these folders from now on, and no others.
    ///
    /// - Returns: those that cannot be watched, each with the system's word for why.
    mutating func watch(_ wanted: Set<String>) -> [(folder: String, cause: String)] {
        for (folder, number) in folders where !wanted.contains(folder) {
            folders[folder] = nil
            names[number]?.remove(folder)
            if names[number]?.isEmpty ?? true {
                inotify_rm_watch(descriptor, number)
                names[number] = nil
            }
            unfinished = unfinished.filter { !Self.lies($0, in: folder) }
        }
        var refused: [(String, String)] = []
        for folder in wanted.sorted() where folders[folder] == nil {
            guard folders.count < Self.mostFolders else {
                refused.append((folder, "there are more than \(Self.mostFolders) folders"))
                break
            }
            let number = inotify_add_watch(descriptor, folder, Self.mask)
            guard number >= 0 else {
                if errno != ENOENT { refused.append((folder, SystemCause.text(errno))) }
                continue
            }
            folders[folder] = number
            names[number, default: []].insert(folder)
            hasNewFolder = true
        }
        return refused
    }

    /// Whether folders were added since the last question.
    mutating func takeNewness() -> Bool {
        defer { hasNewFolder = false }
        return hasNewFolder
    }

    /// Takes the news; true when the films may be others now.
    mutating func hasChanged() -> Bool {
        var changed = false
        // One event holds a name of at most 255 bytes and its end.
        let room = 64 * (MemoryLayout<inotify_event>.size + 256)
        var bytes = [UInt8](repeating: 0, count: room)
        while true {
            let count = read(descriptor, &bytes, room)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return changed }
            var offset = 0
            let head = MemoryLayout<inotify_event>.size
            while offset + head <= count {
                let event = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: inotify_event.self) }
                let end = min(count, offset + head + Int(event.len))
                let name = String(decoding: bytes[(offset + head)..<end].prefix { $0 != 0 }, as: UTF8.self)
                if take(event, name) { changed = true }
                offset = end
            }
        }
    }

    private mutating func take(_ event: inotify_event, _ name: String) -> Bool {
        let mask = Int32(bitPattern: event.mask)
        func has(_ flag: Int) -> Bool { mask & Int32(truncatingIfNeeded: flag) != 0 }
        // More happened than the kernel keeps.
        if has(Int(IN_Q_OVERFLOW)) { return true }
        if has(Int(IN_IGNORED)) || has(Int(IN_DELETE_SELF)) || has(Int(IN_MOVE_SELF)) {
            if let all = names.removeValue(forKey: event.wd) {
                for folder in all { folders[folder] = nil }
                // A folder that was renamed is still watched, under a name that is another one's.
                if !has(Int(IN_IGNORED)) { inotify_rm_watch(descriptor, event.wd) }
            }
            return true
        }
        guard let all = names[event.wd], !name.isEmpty, !name.hasPrefix(".") else { return false }
        var changed = false
        for folder in all {
            let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
            if has(Int(IN_CREATE)), !has(Int(IN_ISDIR)), isBeingWritten(path) {
                if unfinished.count < Self.mostUnfinished { unfinished.insert(path) }
                continue
            }
            // Rights that change during writing.
            if has(Int(IN_ATTRIB)), unfinished.contains(path) { continue }
            unfinished.remove(path)
            changed = true
        }
        return changed
    }

    /// Whether a file that was made is one that somebody will close; links come whole.
    private func isBeingWritten(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1
    }

    private static func lies(_ path: String, in folder: String) -> Bool {
        path.lastIndex(of: "/").map { path[..<$0] == folder } ?? false
    }
}
