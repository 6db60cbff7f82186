internal import Glibc
internal import MediaCore

extension StateFolder {
    /// Beside the records; empty, and never removed, because whoever waits for it holds it open.
    private static let lockName = ".lock"
    /// Whoever holds it reads and writes one small file; a disk that takes longer is ill.
    package static let lockPatience = Duration.seconds(2)
    private static let lockPause = Duration.milliseconds(5)

    /// Reads and writes as one: nobody who asks the same comes between, neither in this process nor in another. Of two who change one
    /// record each then sees what the other has written.
    ///
    /// The lock is the kernel's (flock(2)) and ends with its holder, however that ends. A file system without such locks does without.
    /// Not recursive.
    ///
    /// - Throws: what `body` throws; `busy` when somebody else does not let go, `inaccessible` when the folder cannot be written to:
    ///   `body` has not run then.
    package func exclusively<Result>(
        waiting patience: Duration = lockPatience, _ body: () throws(StateError) -> Result
    ) throws(StateError) -> Result {
        let descriptor = try openLock()
        // Closing lets go.
        defer { close(descriptor) }
        let deadline = HostInstant.now.advanced(by: patience)
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { break }
            guard .now < deadline else {
                throw StateError(
                    .busy,
                    "\(path) is being written to by another Talkie that does not come to an end; end that one. Nothing was changed."
                )
            }
            HostInstant.now.advanced(by: Self.lockPause).sleep()
        }
        return try body()
    }

    private func openLock() throws(StateError) -> Int32 {
        try makePrivate(path)
        let full = "\(path)/\(Self.lockName)"
        let descriptor = open(full, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.inaccessible("write", full) }
        return descriptor
    }
}
