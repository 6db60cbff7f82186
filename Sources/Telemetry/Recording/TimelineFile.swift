internal import Glibc
package import MediaCore

/// The file that the flight recorder writes. Has one owner; closed with it.
package struct TimelineFile: ~Copyable, Sendable {
    package let path: String
    package let descriptor: Int32

    /// Creates the file, or empties it.
    ///
    /// - Throws: status 1 with a sentence; nothing has been created then.
    package init(creating path: String) throws(TalkieError) {
        // Without O_NONBLOCK a named pipe that nobody reads would hold the program for ever.
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0o644)
        guard descriptor >= 0 else {
            let reason = errno == ENXIO ? "nobody reads this pipe" : String(cString: strerror(errno))
            throw TalkieError(
                .failed,
                "the timeline '\(path)' cannot be created (\(reason)); name a file in a folder you may write to")
        }
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
