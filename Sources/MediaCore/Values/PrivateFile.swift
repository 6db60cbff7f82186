internal import Glibc

/// Creates files that only their owner can read, such as playback logs.
package enum PrivateFile {
    /// Creates or truncates a file and removes the permissions of group and others from an existing one. Devices and
    /// pipes are opened unchanged.
    ///
    /// An existing file of another user is refused: its owner could read it. One whose permissions cannot be removed is
    /// refused too, for instance on FAT. Neither is changed.
    ///
    /// - Parameters:
    ///   - flags: flags for open(2) in addition to those that create.
    ///   - owner: the user that must own the file; nil: the user of this process.
    ///   - changeMode: replaces fchmod(2) in tests.
    /// - Returns: a descriptor, or -1 with errno set.
    package static func create(
        _ path: String, _ flags: Int32, for owner: UInt32? = nil,
        changeMode: ((_ descriptor: Int32, _ mode: UInt32) -> Int32)? = nil
    ) -> Int32 {
        let changeMode = changeMode ?? { fchmod($0, $1) }
        let descriptor = open(path.systemPath, flags | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return descriptor }
        var status = stat()
        var code: Int32 = 0
        if fstat(descriptor, &status) != 0 {
            code = errno
        } else if status.st_mode & S_IFMT == S_IFREG {
            if status.st_uid != owner ?? geteuid() {
                code = EPERM
            } else if status.st_mode & 0o077 != 0, changeMode(descriptor, 0o600) != 0 {
                code = errno
            } else if status.st_size > 0, ftruncate(descriptor, 0) != 0 {
                code = errno
            }
        }
        guard code != 0 else { return descriptor }
        close(descriptor)
        errno = code
        return -1
    }
}
