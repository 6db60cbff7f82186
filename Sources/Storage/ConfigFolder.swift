internal import Glibc
package import MediaCore

/// The folder of what a person has written for Talkie to read at each start. Nothing is ever written there.
package struct ConfigFolder: Sendable {
    /// Larger files are something else.
    package static let largestFile = 64 << 10

    package let path: String

    package init(path: String) { self.path = path }

    /// `$XDG_CONFIG_HOME/talkie`, or `~/.config/talkie` (XDG Base Directory Specification 0.8).
    package static func standard() -> ConfigFolder {
        ConfigFolder(path: XDGFolder.path(variable: "XDG_CONFIG_HOME", inHome: ".config") + "/talkie")
    }

    /// What a file holds, and whether others than its owner may read it.
    package struct Content: Sendable {
        package var bytes: [UInt8]
        package var isReadByOthers: Bool
    }

    /// - Returns: nil when there is no such file; whoever writes none wants the defaults.
    /// - Throws: when there is one that cannot be read, is no ordinary file or is too large.
    package func read(_ name: String) throws(TalkieError) -> Content? {
        let full = "\(path)/\(name)"
        var status = stat()
        guard stat(full, &status) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw TalkieError(.notPermitted, "'\(full)' cannot be looked at (\(SystemCause.text(errno)))")
        }
        let isReadByOthers = status.st_mode & 0o044 != 0
        if status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 {
            return Content(bytes: [], isReadByOthers: isReadByOthers)
        }
        let bytes = try InputBytes.read(full, most: Self.largestFile, what: "the configuration")
        return Content(bytes: bytes, isReadByOthers: isReadByOthers)
    }
}

/// Folders of the XDG Base Directory Specification 0.8.
enum XDGFolder {
    /// What the variable names; a relative path in it does not count. Otherwise a folder in the user's home.
    static func path(variable name: String, inHome fallback: String) -> String {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        if let path = variable(name) { return path }
        let home = variable("HOME") ?? getpwuid(getuid())?.pointee.pw_dir.map { String(cString: $0) } ?? "/nonexistent"
        return home + "/" + fallback
    }
}
