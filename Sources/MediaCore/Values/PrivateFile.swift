internal import Glibc

/// A file for what its owner alone may read: records of what was played and heard.
package enum PrivateFile {
    /// Makes or empties a file; one that was there is taken from everybody else, too. Devices and pipes are opened as they are.
    ///
    /// - Parameter flags: of open(2), beside those that make and empty it.
    /// - Returns: a descriptor, or -1 with errno set.
    package static func create(_ path: String, _ flags: Int32) -> Int32 {
        let descriptor = open(path, flags | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return descriptor }
        var status = stat()
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 {
            fchmod(descriptor, 0o600)
        }
        return descriptor
    }
}
