internal import Glibc
internal import MediaCore

/// The folder where Talkie keeps what it must remember: small files that only their owner can read, each replaced
/// whole or not at all.
///
/// Names are relative, at most one folder deep. Methods may be called from any thread and block on the disk; several
/// processes may use one folder.
package struct StateFolder: Sendable {
    /// Larger files are damaged, whatever they hold.
    package static let fileLimit = 64 << 10

    package let path: String

    package init(path: String) { self.path = path }

    /// `$XDG_STATE_HOME/talkie`, or `~/.local/state/talkie` (XDG Base Directory Specification 0.8; a relative path in
    /// the variable does not count).
    package static func standard() -> StateFolder {
        StateFolder(path: XDGFolder.path(variable: "XDG_STATE_HOME", inHome: ".local/state") + "/talkie")
    }

    /// A file's bytes; nil when there is none. Of a file beyond `fileLimit` one byte more than that.
    package func read(_ name: String) throws(StateError) -> [UInt8]? {
        let full = "\(path)/\(name)"
        let descriptor = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
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

    /// Returns when a file was added to or removed from a folder, or replaced in it, in nanoseconds since 1970; nil if there is no
    /// such folder.
    package func changeTime(of name: String) -> Int64? {
        var status = stat()
        guard stat("\(path)/\(name)", &status) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }

    /// Replaces a file, or makes it. After an error the old one is as it was.
    package func write(_ name: String, _ bytes: [UInt8], syncsFolder: Bool = true) throws(StateError) {
        try place(name, bytes, syncsFolder: syncsFolder) { rename($0, $1) }
    }

    /// Makes a file unless there is one; false when somebody else was faster.
    package func create(_ name: String, _ bytes: [UInt8]) throws(StateError) -> Bool {
        var isOurs = true
        try place(name, bytes) { temporary, full in
            if link(temporary, full) == 0 {
                unlink(temporary)
                return 0
            }
            if errno == EEXIST {
                isOurs = false
                unlink(temporary)
                return 0
            }
            // A file system without hard links.
            return rename(temporary, full)
        }
        return isOurs
    }

    /// Removes a file; false when there was none.
    @discardableResult
    package func remove(_ name: String) throws(StateError) -> Bool {
        if unlink("\(path)/\(name)") == 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw Self.inaccessible("remove", "\(path)/\(name)") }
        return false
    }

    /// Moves a damaged file out of the way without losing it; its new path. At most nine of one name are kept.
    package func setAside(_ name: String) throws(StateError) -> String {
        let full = "\(path)/\(name)"
        var target = full + ".damaged"
        var number = 2
        while access(target, F_OK) == 0, number <= 9 {
            target = "\(full).damaged-\(number)"
            number += 1
        }
        guard rename(full, target) == 0 else { throw Self.inaccessible("move", full) }
        return target
    }

    /// The names of the files in a folder, as many as there may reasonably be.
    package func list(_ folder: String) -> [String] {
        guard let handle = opendir("\(path)/\(folder)") else { return [] }
        defer { closedir(handle) }
        var names: [String] = []
        while names.count < 4096, let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") && !name.contains(".damaged") { names.append(name) }
        }
        return names.sorted()
    }

    /// Writes a temporary file to the disk and has it put in place.
    private func place(
        _ name: String, _ bytes: [UInt8], syncsFolder: Bool = true,
        _ put: (_ temporary: String, _ full: String) -> Int32
    ) throws(StateError) {
        let full = "\(path)/\(name)"
        let folder = String(full[..<full.lastIndex(of: "/")!])
        try makePrivate(folder)
        Self.sweep(folder)
        let temporary = "\(folder)/\(Self.temporaryPrefix)\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.inaccessible("write", full) }
        var isWritten = Self.writeAll(descriptor, bytes) && fsync(descriptor) == 0
        if close(descriptor) != 0 { isWritten = false }
        guard isWritten, put(temporary, full) == 0 else {
            let error = Self.inaccessible("write", full)
            unlink(temporary)
            throw error
        }
        guard syncsFolder else { return }
        // The rename itself is on the disk only once the folder is.
        let handle = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if handle >= 0 {
            fsync(handle)
            close(handle)
        }
    }

    /// Takes away what processes left that ended while they wrote.
    private static func sweep(_ folder: String) {
        guard let handle = opendir(folder) else { return }
        defer { closedir(handle) }
        var looked = 0
        while looked < 4096, let entry = readdir(handle) {
            looked += 1
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let parts = name.split(separator: "-")
            guard name.hasPrefix(temporaryPrefix), parts.count == 3, let writer = pid_t(parts[1]), writer > 0,
                kill(writer, 0) != 0, errno == ESRCH
            else { continue }
            unlink("\(folder)/\(name)")
        }
    }

    /// Of files that are being written: the writer's process and a number follow.
    private static let temporaryPrefix = ".new-"

    private static func writeAll(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + sent, $0.count - sent) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// Makes a folder and those above it, and takes from others every right to our own.
    func makePrivate(_ folder: String) throws(StateError) {
        var partial = ""
        for part in folder.split(separator: "/") {
            partial += "/\(part)"
            if mkdir(partial, 0o700) != 0 && errno != EEXIST && access(partial, F_OK) != 0 {
                throw Self.inaccessible("make", partial)
            }
        }
        for own in Set([path, folder]) {
            var status = stat()
            guard stat(own, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw Self.inaccessible("use", own)
            }
            if status.st_mode & 0o077 != 0 { chmod(own, 0o700) }
        }
    }

    static func inaccessible(_ verb: String, _ path: String) -> StateError {
        let code = errno
        let remedy = [EACCES, EPERM, EROFS].contains(code) ? "give it the right to" : "see to that"
        return StateError(
            .inaccessible,
            "Cannot \(verb) \(path) (\(SystemCause.text(code))); Talkie keeps pairings there, so \(remedy).")
    }
}
