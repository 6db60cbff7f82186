internal import Glibc
internal import MediaCore

/// Identifies a version of a file by its device, inode, size and modification time.
package struct FileEdition: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// The version in a state file; without the device, whose number may change on reboot.
    package var text: String { "\(number)-\(size)-\(seconds)-\(nanoseconds)" }

    /// Reads the version; nil if the file does not exist or is not regular. Blocks on the disk.
    package init?(of path: String) {
        var status = stat()
        guard stat(path.systemPath, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        (device, number, size) = (UInt64(status.st_dev), UInt64(status.st_ino), Int64(status.st_size))
        (seconds, nanoseconds) = (Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec))
    }
}
