internal import Glibc
package import MediaCore

/// The folder of user-provided configuration, read at each start and never written.
package struct ConfigFolder: Sendable {
    /// Maximum file size in bytes; larger files are no configuration.
    package static let largestFile = 64 << 10

    package let path: String

    package init(path: String) { self.path = path }

    /// Returns `$XDG_CONFIG_HOME/talkie`, or `~/.config/talkie` (XDG Base Directory Specification 0.8).
    package static func standard() -> ConfigFolder {
        ConfigFolder(path: XDGFolder.path(variable: "XDG_CONFIG_HOME", inHome: ".config") + "/talkie")
    }

    /// The contents of a file.
    package struct Content: Sendable {
        package var bytes: [UInt8]
        /// True if group or others may read the file.
        package var isReadByOthers: Bool
    }

    /// Reads a file.
    ///
    /// - Returns: nil if it does not exist; defaults apply then.
    /// - Throws: if it cannot be read, is not a regular file or is too large.
    package func read(_ name: String) throws(TalkieError) -> Content? {
        let full = "\(path)/\(name)"
        var status = stat()
        guard stat(full.systemPath, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw TalkieError(.notPermitted, "'\(full)' cannot be accessed (\(SystemCause.text(errno)))")
        }
        let isReadByOthers = status.st_mode & 0o044 != 0
        if status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 {
            return Content(bytes: [], isReadByOthers: isReadByOthers)
        }
        let bytes = try InputBytes.read(full, maxBytes: Self.largestFile, what: "the configuration")
        return Content(bytes: bytes, isReadByOthers: isReadByOthers)
    }
}

/// The folders of the XDG Base Directory Specification 0.8.
enum XDGFolder {
    /// Returns the path in the variable, ignoring relative paths; otherwise a folder in the user's home.
    static func path(variable name: String, inHome fallback: String) -> String {
        func variable(_ name: String) -> String? {
            getenv(name).map { FileName.text($0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        if let path = variable(name) { return path }
        let home = variable("HOME") ?? getpwuid(getuid())?.pointee.pw_dir.map { FileName.text($0) } ?? "/nonexistent"
        return home + "/" + fallback
    }
}
