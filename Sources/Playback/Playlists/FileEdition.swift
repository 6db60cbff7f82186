internal import Glibc

/// Tells a file from others that had its name: by where it lies on its disk, its size and the time of its last change.
package struct FileEdition: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// Identifies the edition in a state file, without the device, whose number may change with the next boot.
    package var text: String { "\(number)-\(size)-\(seconds)-\(nanoseconds)" }

    /// Nil for what is no regular file, or is not there. Blocks on the disk.
    package init?(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        (device, number, size) = (UInt64(status.st_dev), UInt64(status.st_ino), Int64(status.st_size))
        (seconds, nanoseconds) = (Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec))
    }
}
