internal import Glibc
package import MediaCore

/// The file that the flight recorder writes. Has one owner; closed with it.
package struct TimelineFile: ~Copyable, Sendable {
    package let path: String
    package let descriptor: Int32

    /// Where the record of a run that broke off lies now, when there was one.
    package let setAside: String?

    /// Creates the file, or empties it. A record without its last line is of a run that broke off, and is kept beside it:
    /// it is the one that somebody will want to read.
    ///
    /// - Throws: status 1 with a sentence; nothing has been created then.
    package init(creating path: String) throws(TalkieError) {
        setAside = Self.isCutOff(path) ? Self.setAside(path) : nil
        // Without O_NONBLOCK a named pipe that nobody reads would hold the program for ever, here and with each line.
        let descriptor = PrivateFile.create(path, O_WRONLY | O_NONBLOCK)
        guard descriptor >= 0 else {
            let reason = errno == ENXIO ? "nobody reads this pipe" : SystemCause.text(errno)
            throw TalkieError(
                .failed,
                "the timeline '\(path)' cannot be created (\(reason)); name a file in a folder you may write to")
        }
        self.path = path
        self.descriptor = descriptor
    }

    /// Whether a file is a timeline whose last line is not the one that `TimelineWriter.finish` writes.
    private static func isCutOff(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            return false
        }
        func bytes(_ count: Int, at offset: Int) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: count) {
                $1 = max(0, pread(descriptor, $0.baseAddress, count, offset))
            }
        }
        guard bytes(64, at: 0).starts(with: #"{"event":"timeline""#.utf8) else { return false }
        let last = bytes(64, at: max(0, Int(status.st_size) - 64)).dropLast().split(separator: 10).last
        return !(last?.starts(with: #"{"event":"end""#.utf8) ?? false)
    }

    /// At most nine are kept; then the last of them gives way.
    private static func setAside(_ path: String) -> String? {
        let names = [path + ".cut-off"] + (2...9).map { "\(path).cut-off-\($0)" }
        let free = names.first { access($0, F_OK) != 0 } ?? names[8]
        return rename(path, free) == 0 ? free : nil
    }

    deinit { close(descriptor) }
}
