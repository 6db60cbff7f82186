internal import Foundation
internal import Glibc

/// A temporary folder that is removed with this object.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() {
        path = NSTemporaryDirectory() + "talkie-test-\(UUID().uuidString)"
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        } catch {
            preconditionFailure("no temporary folder: \(error)")
        }
    }

    // ignored: a folder that stays in /tmp changes no test.
    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func path(_ name: String) -> String { path + "/" + name }

    /// Writes a file and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String) -> String {
        precondition(FileManager.default.createFile(atPath: path(name), contents: Data(text.utf8)))
        return path(name)
    }

    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws -> String {
        try TestClips.write(bytes, to: path(name))
        return path(name)
    }

    /// Writes a program and returns its path once it can be executed.
    ///
    /// execve(2) fails with ETXTBSY while the file is open for writing, also in a process that another thread forked
    /// meanwhile and that has not executed its own program yet. A read lease is granted once it is not (fcntl(2)).
    package func writeProgram(_ text: String, to name: String) -> String {
        let path = write(text, to: name)
        precondition(chmod(path, 0o700) == 0)
        let file = open(path, O_RDONLY | O_CLOEXEC)
        precondition(file >= 0)
        defer { close(file) }
        let setLease: Int32 = 1024  // F_SETLEASE of <fcntl.h>, which needs _GNU_SOURCE.
        while fcntl(file, setLease, F_RDLCK) != 0 {
            precondition(errno == EAGAIN, "no lease: \(errno)")
            sched_yield()
        }
        precondition(fcntl(file, setLease, F_UNLCK) == 0)
        return path
    }

    package func read(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path(name)) ?? Data(), as: UTF8.self)
    }
}
