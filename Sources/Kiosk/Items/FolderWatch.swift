internal import Glibc
internal import MediaCore

/// Receives change events of folders from the kernel (inotify(7)). Must be used by one thread.
struct FolderWatch: ~Copyable {
    /// Readable while events are pending.
    let descriptor: Int32
    private var folders: [String: Int32] = [:]
    /// The folders of each watch: the kernel has one watch for all names of a folder (links).
    private var names: [Int32: Set<String>] = [:]
    /// Files that were created and not closed by their writer yet.
    private(set) var unfinished: Set<String> = []
    private var hasNewFolder = false

    /// The maximum number of watched folders, more than a kiosk has. Changes in others are found by the periodic scan.
    static let maxFolders = 1024
    private static let maxUnfinishedFiles = 1024

    /// The events that may change a playlist: files written completely, added or removed, and changed permissions.
    private static let mask = UInt32(
        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB
    )

    /// - Throws: `ExhaustionError` if the system provides no descriptor.
    init() throws(ExhaustionError) {
        descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw .descriptor(errno) }
    }

    deinit { close(descriptor) }

    /// Replaces the watched folders.
    ///
    /// - Returns: The folders that cannot be watched, each with the system's reason.
    mutating func watch(_ wanted: Set<String>) -> [(folder: String, cause: String)] {
        for (folder, number) in folders where !wanted.contains(folder) {
            folders[folder] = nil
            names[number]?.remove(folder)
            if names[number]?.isEmpty ?? true {
                inotify_rm_watch(descriptor, number)
                names[number] = nil
            }
            forgetUnfinished(in: folder)
        }
        var refused: [(String, String)] = []
        for folder in wanted.sorted() where folders[folder] == nil {
            guard folders.count < Self.maxFolders else {
                refused.append((folder, "there are more than \(Self.maxFolders) folders"))
                break
            }
            let number = inotify_add_watch(descriptor, folder.systemPath, Self.mask)
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

    /// Returns true if folders were added since the last call.
    mutating func consumeNewness() -> Bool {
        defer { hasNewFolder = false }
        return hasNewFolder
    }

    /// Reads all pending events. Returns true if the items may have changed.
    mutating func hasChanged() -> Bool {
        var changed = false
        // An event contains a name of at most 255 bytes and its terminator.
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
                let name = FileName.text(bytes[(offset + head)..<end].prefix { $0 != 0 })
                if handle(event, name) { changed = true }
                offset = end
            }
        }
    }

    private mutating func handle(_ event: inotify_event, _ name: String) -> Bool {
        let mask = Int32(bitPattern: event.mask)
        func has(_ flag: Int) -> Bool { mask & Int32(truncatingIfNeeded: flag) != 0 }
        // The kernel's event queue overflowed: the end of a file's writing may be among the lost events.
        if has(Int(IN_Q_OVERFLOW)) {
            unfinished = []
            return true
        }
        if has(Int(IN_IGNORED)) || has(Int(IN_DELETE_SELF)) || has(Int(IN_MOVE_SELF)) {
            if let all = names.removeValue(forKey: event.wd) {
                for folder in all {
                    folders[folder] = nil
                    forgetUnfinished(in: folder)
                }
                // A renamed folder is still watched, under a path that may belong to another folder.
                if !has(Int(IN_IGNORED)) { inotify_rm_watch(descriptor, event.wd) }
            }
            return true
        }
        guard let all = names[event.wd], !name.isEmpty, !name.hasPrefix(".") else { return false }
        var changed = false
        for folder in all {
            let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
            if has(Int(IN_CREATE)), !has(Int(IN_ISDIR)), isBeingWritten(path) {
                if unfinished.count < Self.maxUnfinishedFiles { unfinished.insert(path) }
                continue
            }
            // Permissions that change while the file is written.
            if has(Int(IN_ATTRIB)), unfinished.contains(path) { continue }
            unfinished.remove(path)
            changed = true
        }
        return changed
    }

    /// Returns true if a writer will close a created file; links are complete at once.
    private func isBeingWritten(_ path: String) -> Bool {
        var status = stat()
        return lstat(path.systemPath, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1
    }

    /// Forgets the unfinished files of a folder whose events are no longer received.
    private mutating func forgetUnfinished(in folder: String) {
        unfinished = unfinished.filter { path in
            // A folder may be named with a slash at its end.
            path.lastIndex(of: "/").map { path[..<$0] != folder && path[...$0] != folder } ?? true
        }
    }
}
