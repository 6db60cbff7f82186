internal import Glibc

/// The entries of folders.
package enum FolderEntries {
    /// Calls a closure with each name in a folder but `.` and `..`, in no order, until it returns false. Blocks on the
    /// disk.
    ///
    /// - Returns: False if the folder cannot be opened; `errno` has the reason.
    @discardableResult
    package static func forEachName(in folder: String, _ body: (String) -> Bool) -> Bool {
        guard let handle = opendir(folder.systemPath) else { return false }
        defer { closedir(handle) }
        while let entry = readdir(handle) {
            let name = name(of: entry)
            if name != ".", name != "..", !body(name) { break }
        }
        return true
    }

    /// Returns the name of an entry.
    ///
    /// `d_name` is read by its address: its type has 256 bytes, but an entry ends behind its name (readdir(3)), and the
    /// last one may end at the end of mapped memory. A copy of the field would read beyond.
    static func name(of entry: UnsafeMutablePointer<dirent>) -> String {
        let name = UnsafeRawPointer(entry) + MemoryLayout<dirent>.offset(of: \.d_name)!
        return FileName.text(name.assumingMemoryBound(to: CChar.self))
    }
}
