internal import Glibc

/// A folder in tmpfs that is emptied for each input. A process uses one folder per name.
package struct FuzzFolder: Sendable {
    package let path: String

    package init(_ name: String) {
        path = "/dev/shm/talkie-fuzz-\(name)-\(getpid())"
        mkdir(path, 0o700)
        empty()
    }

    /// Removes the contents of the folder, including subfolders.
    package func empty() { Self.empty(path) }

    /// Writes a file, replacing an existing one. Traps if tmpfs has no space left.
    ///
    /// - Parameter name: relative path, with at most one subfolder.
    package func write(_ name: String, _ bytes: [UInt8]) {
        let full = "\(path)/\(name)"
        mkdir(String(full[..<full.lastIndex(of: "/")!]), 0o700)
        let file = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        precondition(file >= 0 && Glibc.write(file, bytes, bytes.count) == bytes.count, "there is no room in memory")
        close(file)
    }

    /// Returns the first MiB of a file; nil if the file does not exist.
    package func read(_ name: String) -> [UInt8]? {
        let file = open("\(path)/\(name)", O_RDONLY)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = Glibc.read(file, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }

    private static func empty(_ path: String) {
        guard let handle = opendir(path) else { return }
        defer { closedir(handle) }
        while let entry = readdir(handle) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            if unlink("\(path)/\(name)") != 0 {
                empty("\(path)/\(name)")
                rmdir("\(path)/\(name)")
            }
        }
    }
}
