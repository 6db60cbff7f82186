internal import Glibc
package import MediaCore

/// The file that the flight recorder writes. Has one owner; closed with it.
package struct TimelineFile: ~Copyable, Sendable {
    package let path: String
    package private(set) var descriptor: Int32

    /// Where the record of a run that broke off lies now, when there was one.
    package let setAside: String?
    /// When another file is begun; nil for never, as with pipes and devices.
    package let rotation: TimelineRotation?

    /// Creates the file, or empties it. A record without its last line is of a run that broke off, and is kept beside it:
    /// it is the one that somebody will want to read. With a rotation the record of the run before is kept as any older file.
    ///
    /// - Throws: status 1 with a sentence; nothing has been created then.
    package init(creating path: String, rotation: TimelineRotation? = nil) throws(TalkieError) {
        let (rotation, record) = (rotation?.ifBounded, Self.record(path))
        if let rotation, record?.isRecord == true { _ = Self.shift(path, keeping: rotation.keep) }
        setAside = rotation == nil && record?.isCutOff == true ? Self.setAside(path) : nil
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
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        self.rotation = isFile ? rotation : nil
    }

    /// Begins another file under the same name; the one so far becomes the newest of the older ones.
    ///
    /// - Returns: the errno value when that cannot be; the next call goes on where this one ended.
    package mutating func turnOver() -> Int32? {
        guard let rotation else { return nil }
        var (ours, named) = (stat(), stat())
        // Not what lies there by now in its place, nor the older ones a second time.
        if fstat(descriptor, &ours) == 0, stat(path, &named) == 0, ours.st_ino == named.st_ino,
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

    /// `FILE` to `FILE.1`, that to `FILE.2`, and so on; what is older than wanted goes.
    private static func shift(_ path: String, keeping keep: Int) -> Int32? {
        // Also what an earlier run was to keep and this one is not.
        for number in max(1, keep)...TimelineRotation.mostKept where unlink("\(path).\(number)") != 0 {
            if errno == ENOENT, number > keep { break }
        }
        guard keep > 0 else { return nil }
        for number in (1..<keep).reversed() {
            if rename("\(path).\(number)", "\(path).\(number + 1)") != 0, errno != ENOENT { return errno }
        }
        return rename(path, path + ".1") == 0 || errno == ENOENT ? nil : errno
    }

    /// What lies at a path, where that is a file with something in it: whether it is a timeline, and one whose last line is not the one
    /// that `TimelineWriter.finish` writes.
    private static func record(_ path: String) -> (isRecord: Bool, isCutOff: Bool)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            return nil
        }
        func bytes(_ count: Int, at offset: Int) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: count) {
                $1 = max(0, pread(descriptor, $0.baseAddress, count, offset))
            }
        }
        guard bytes(64, at: 0).starts(with: #"{"event":"timeline""#.utf8) else { return (false, false) }
        let last = bytes(64, at: max(0, Int(status.st_size) - 64)).dropLast().split(separator: 10).last
        return (true, !(last?.starts(with: #"{"event":"end""#.utf8) ?? false))
    }

    /// At most nine are kept; then the last of them gives way.
    private static func setAside(_ path: String) -> String? {
        let names = [path + ".cut-off"] + (2...9).map { "\(path).cut-off-\($0)" }
        let free = names.first { access($0, F_OK) != 0 } ?? names[8]
        return rename(path, free) == 0 ? free : nil
    }

    deinit { close(descriptor) }
}
