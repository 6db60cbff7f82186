internal import Glibc

/// Creates files that only their owner can read, such as playback logs.
package enum PrivateFile {
    /// Creates or truncates a file and removes the permissions of group and others from an existing one. Devices and
    /// pipes are opened unchanged.
    ///
    /// - Parameter flags: flags for open(2) in addition to those that create and truncate.
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
