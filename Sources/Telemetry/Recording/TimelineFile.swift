internal import Glibc
package import MediaCore

/// The file of the flight recorder. Has one owner; closed on deinitialization.
package struct TimelineFile: ~Copyable, Sendable {
    /// The path of the file.
    let path: String
    /// The open file descriptor.
    private(set) var descriptor: Int32

    /// The path of a preserved record of an interrupted run; nil if there was none.
    package let setAside: String?
    /// The rotation policy; nil: never rotated, as for pipes and devices.
    package let rotation: TimelineRotation?

    /// Creates or truncates the file.
    ///
    /// An existing record without its last line belongs to an interrupted run and is renamed, because it is likely
    /// needed. With rotation an existing record becomes an older file.
    ///
    /// - Throws: `invalidArgument` if an existing file is no timeline, `failed` if it cannot be created; nothing has
    ///   been changed.
    package init(creating path: String, rotation: TimelineRotation? = nil) throws(TalkieError) {
        let (rotation, record) = (rotation?.ifBounded, Self.record(path))
        if let rotation, record?.isRecord == true { _ = Self.shift(path, keeping: rotation.keep) }
        setAside = rotation == nil && record?.isCutOff == true ? Self.setAside(path) : nil
        if let objection = Self.objection(to: path) { throw TalkieError(.invalidArgument, objection) }
        // Without O_NONBLOCK, a named pipe without a reader would block here and at every write.
        let descriptor = PrivateFile.create(path, O_WRONLY | O_NONBLOCK)
        guard descriptor >= 0 else {
            let reason = errno == ENXIO ? "the pipe has no reader" : SystemCause.text(errno)
            throw TalkieError(
                .failed,
                "the timeline '\(path)' cannot be created (\(reason)); choose a file in a writable folder")
        }
        self.path = path
        self.descriptor = descriptor
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        self.rotation = isFile ? rotation : nil
    }

    /// Rotates: the current file becomes the newest older one, and a new file is created.
    ///
    /// - Returns: The errno value of a failure; the next call continues where this one failed.
    mutating func turnOver() -> Int32? {
        guard let rotation else { return nil }
        var (ours, named) = (stat(), stat())
        // Not if another file has replaced ours, and not a second time.
        if fstat(descriptor, &ours) == 0, stat(path.systemPath, &named) == 0, ours.st_ino == named.st_ino,
            ours.st_dev == named.st_dev, let code = Self.shift(path, keeping: rotation.keep)
        {
            return code
        }
        let next = PrivateFile.create(path, O_WRONLY | O_NONBLOCK)
        guard next >= 0 else { return errno }
        close(descriptor)
        descriptor = next
        return nil
    }

    /// Renames `FILE` to `FILE.1`, that to `FILE.2`, and so on; removes excess files.
    private static func shift(_ path: String, keeping keep: Int) -> Int32? {
        // Also removes files of an earlier run with a larger `keep`.
        for number in max(1, keep)...TimelineRotation.maxKeptFiles where unlink("\(path).\(number)".systemPath) != 0 {
            if errno == ENOENT, number > keep { break }
        }
        guard keep > 0 else { return nil }
        for number in (1..<keep).reversed() {
            if rename("\(path).\(number)".systemPath, "\(path).\(number + 1)".systemPath) != 0, errno != ENOENT {
                return errno
            }
        }
        return rename(path.systemPath, (path + ".1").systemPath) == 0 || errno == ENOENT ? nil : errno
    }

    /// Returns why nothing may be recorded to a file: it is something else, such as a film; nil if it may be.
    package static func objection(to path: String) -> String? {
        guard record(path)?.isRecord == false else { return nil }
        return "the timeline would overwrite '\(path)', which is not one; choose another file"
    }

    /// Examines a non-empty regular file: whether it is a timeline, and whether it lacks the last
    /// line of `TimelineWriter.finish`.
    private static func record(_ path: String) -> (isRecord: Bool, isCutOff: Bool)? {
        var status = stat()
        guard stat(path.systemPath, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            return nil
        }
        let descriptor = open(path.systemPath, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return (false, false) }
        defer { close(descriptor) }
        func bytes(_ count: Int, at offset: Int) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: count) {
                $1 = max(0, pread(descriptor, $0.baseAddress, count, offset))
            }
        }
        guard bytes(64, at: 0).starts(with: #"{"event":"timeline""#.utf8) else { return (false, false) }
        let last = bytes(64, at: max(0, Int(status.st_size) - 64)).dropLast().split(separator: 10).last
        return (true, !(last?.starts(with: #"{"event":"end""#.utf8) ?? false))
    }

    /// Renames an interrupted record; at most nine are kept, then the last one is replaced.
    private static func setAside(_ path: String) -> String? {
        let names = [path + ".cut-off"] + (2...9).map { "\(path).cut-off-\($0)" }
        let free = names.first { access($0.systemPath, F_OK) != 0 } ?? names[8]
        return rename(path.systemPath, free.systemPath) == 0 ? free : nil
    }

    deinit { close(descriptor) }
}
