internal import Glibc
internal import MediaCore

extension StateFolder {
    /// An empty file next to the records. Never removed, because waiting processes have it open.
    private static let lockName = ".lock"
    /// Default timeout. Lock holders read and write one small file; a disk that takes longer is defective.
    static let lockTimeout = Duration.seconds(2)
    /// Interval of lock attempts.
    private static let lockPause = Duration.milliseconds(5)

    /// Runs `body` under a lock that excludes other threads and processes. Concurrent read-modify-write operations on a
    /// record then do not lose changes.
    ///
    /// Uses flock(2): the kernel releases the lock when its holder exits for any reason. File systems without flock are
    /// used unlocked. Blocks up to the timeout. Not recursive.
    ///
    /// - Throws: errors of `body`; `busy` after the timeout, or `inaccessible` if the folder is not writable. In these
    ///   cases `body` was not called.
    package func exclusively<Result>(
        waiting timeout: Duration = lockTimeout, _ body: () throws(StateError) -> Result
    ) throws(StateError) -> Result {
        let descriptor = try openLock()
        // Closing releases the lock.
        defer { close(descriptor) }
        let deadline = HostInstant.now.advanced(by: timeout)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { break }
            guard .now < deadline else {
                throw StateError(
                    .busy,
                    "\(path) is locked by another Talkie that does not finish; close it. Nothing was changed."
                )
            }
            HostInstant.now.advanced(by: Self.lockPause).sleep()
        }
        return try body()
    }

    private func openLock() throws(StateError) -> Int32 {
        try makePrivate(path)
        let full = "\(path)/\(Self.lockName)"
        let descriptor = open(full.systemPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.inaccessible("write", full) }
        return descriptor
    }
}
