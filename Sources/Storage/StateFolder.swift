internal import Glibc
internal import MediaCore

/// The folder of persistent state: small files that only their owner can read, replaced atomically.
///
/// Names are relative with at most one folder. Methods may be called from any thread and block on the disk. Several
/// processes may use one folder.
package struct StateFolder: Sendable {
    /// Maximum file size in bytes; larger files count as damaged.
    package static let fileLimit = 64 << 10

    package let path: String

    package init(path: String) { self.path = path }

    /// Returns `$XDG_STATE_HOME/talkie`, or `~/.local/state/talkie` (XDG Base Directory Specification 0.8). A relative
    /// path in the variable is ignored.
    package static func standard() -> StateFolder {
        StateFolder(path: XDGFolder.path(variable: "XDG_STATE_HOME", inHome: ".local/state") + "/talkie")
    }

    /// Returns a file's bytes; nil if it does not exist. Of larger files `fileLimit` + 1 bytes.
    package func read(_ name: String) throws(StateError) -> [UInt8]? {
        let full = "\(path)/\(name)"
        let descriptor = open(full.systemPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw Self.inaccessible("read", full)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.fileLimit + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + count, $0.count - count) }
            if got < 0 && errno == EINTR { continue }
            guard got >= 0 else { throw Self.inaccessible("read", full) }
            if got == 0 { break }
            count += got
        }
        return Array(bytes.prefix(count))
    }

    /// Returns the last time a file was added to, removed from or replaced in a folder, in nanoseconds since 1970. Nil
    /// if there is no such folder.
    package func changeTime(of name: String) -> Int64? {
        var status = stat()
        guard stat("\(path)/\(name)".systemPath, &status) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    /// Creates or atomically replaces a file. After an error the old one is unchanged.
    ///
    /// - Parameter syncsFolder: true waits until the replacement is durable; see `replace`.
    package func write(_ name: String, _ bytes: [UInt8], syncsFolder: Bool = true) throws(StateError) {
        try install(name, bytes, syncsFolder: syncsFolder) { rename($0, $1) }
    }

    /// Creates a file; returns false if it already exists. Without hard links in the file system, an existing file is
    /// replaced and the result is true.
    package func create(_ name: String, _ bytes: [UInt8]) throws(StateError) -> Bool {
        var isOurs = true
        try install(name, bytes) { temporary, full in
            if link(temporary, full) == 0 {
                unlink(temporary)
                return 0
            }
            if errno == EEXIST {
                isOurs = false
                unlink(temporary)
                return 0
            }
            // The file system has no hard links.
            return rename(temporary, full)
        }
        return isOurs
    }

    /// Removes a file; returns false if it does not exist.
    @discardableResult
    package func remove(_ name: String) throws(StateError) -> Bool {
        if unlink("\(path)/\(name)".systemPath) == 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw Self.inaccessible("remove", "\(path)/\(name)") }
        return false
    }

    /// Renames a damaged file and returns its new path. At most nine copies per name are kept; after that the last is
    /// overwritten.
    func setAside(_ name: String) throws(StateError) -> String {
        let full = "\(path)/\(name)"
        var target = full + ".damaged"
        var number = 2
        while access(target.systemPath, F_OK) == 0, number <= 9 {
            target = "\(full).damaged-\(number)"
            number += 1
        }
        guard rename(full.systemPath, target.systemPath) == 0 else { throw Self.inaccessible("move", full) }
        return target
    }

    /// Returns the sorted names of the files in a folder, at most 4,096, without hidden and damaged ones; empty if
    /// there is no folder.
    package func list(_ folder: String) -> [String] {
        var names: [String] = []
        FolderEntries.forEachName(in: "\(path)/\(folder)") { name in
            if !name.hasPrefix(".") && !name.contains(".damaged") { names.append(name) }
            return names.count < 4096
        }
        return names.sorted()
    }

    /// Writes a temporary file durably, then moves it to its name with `put`.
    private func install(
        _ name: String, _ bytes: [UInt8], syncsFolder: Bool = true,
        _ put: (_ temporary: [CChar], _ full: [CChar]) -> Int32
    ) throws(StateError) {
        let full = "\(path)/\(name)"
        let folder = String(full[..<full.lastIndex(of: "/")!])
        try makePrivate(folder)
        Self.sweep(folder)
        let temporary =
            "\(folder)/\(Self.temporaryPrefix)\(getpid())-\(UInt32.random(in: 0 ... .max))".systemPath
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.inaccessible("write", full) }
        var isWritten = CompleteWrite.write(bytes, to: descriptor) == nil && fsync(descriptor) == 0
        if close(descriptor) != 0 { isWritten = false }
        guard isWritten, put(temporary, full.systemPath) == 0 else {
            let error = Self.inaccessible("write", full)
            unlink(temporary)
            throw error
        }
        guard syncsFolder else { return }
        // The rename is durable only after an fsync(2) of the folder.
        let handle = open(folder.systemPath, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if handle >= 0 {
            fsync(handle)
            close(handle)
        }
    }

    /// Removes temporary files of processes that no longer exist.
    private static func sweep(_ folder: String) {
        var looked = 0
        FolderEntries.forEachName(in: folder) { name in
            looked += 1
            let fields = name.split(separator: "-")
            if name.hasPrefix(temporaryPrefix), fields.count == 3, let writer = pid_t(fields[1]), writer > 0,
                kill(writer, 0) != 0, errno == ESRCH
            {
                unlink("\(folder)/\(name)".systemPath)
            }
            return looked < 4096
        }
    }

    /// Prefix of temporary files; the process identifier and a random number follow.
    private static let temporaryPrefix = ".new-"

    /// Creates a folder and its parents, and removes the permissions of group and others from this folder and `path`.
    func makePrivate(_ folder: String) throws(StateError) {
        var partial = ""
        for part in folder.split(separator: "/") {
            partial += "/\(part)"
            if mkdir(partial.systemPath, 0o700) != 0 && errno != EEXIST && access(partial.systemPath, F_OK) != 0 {
                throw Self.inaccessible("make", partial)
            }
        }
        for own in Set([path, folder]) {
            var status = stat()
            guard stat(own.systemPath, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw Self.inaccessible("use", own)
            }
            if status.st_mode & 0o077 != 0 { chmod(own.systemPath, 0o700) }
        }
    }

    static func inaccessible(_ verb: String, _ path: String) -> StateError {
        let code = errno
        let remedy = [EACCES, EPERM, EROFS].contains(code) ? "give it permission" : "make that possible"
        let owner = code == EACCES || code == EPERM ? owner(of: path).map { "; it belongs to \($0)" } ?? "" : ""
        return StateError(
            .inaccessible,
            "Cannot \(verb) \(path) (\(SystemCause.text(code))\(owner)); Talkie stores pairings there, so \(remedy).")
    }

    /// Returns the user that owns a file, or its folder if the file cannot be accessed; nil if it is the own one.
    private static func owner(of path: String) -> String? {
        var status = stat()
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        guard stat(path.systemPath, &status) == 0 || stat(folder.systemPath, &status) == 0, status.st_uid != geteuid()
        else { return nil }
        return getpwuid(status.st_uid).map { "'\(String(cString: $0.pointee.pw_name))'" } ?? "user \(status.st_uid)"
    }
}
