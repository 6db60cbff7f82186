import Glibc
import Testing

@testable import MediaCore

@Suite struct ExhaustionTests {
    @Test(arguments: [
        (EMFILE, "ulimit -n"), (ENFILE, "this computer"), (ENOMEM, "out of memory"), (EFBIG, "ulimit -f"),
        (ENOSPC, "No space left"), (-EMFILE, "ulimit -n"),
    ])
    func aReachedLimitIsReportedByItsName(code: Int32, words: String) {
        #expect(SystemCause.text(code).contains(words))
    }

    @Test func aThreadThatCannotBeHadNamesItsLimit() {
        let error = ExhaustionError.thread(EAGAIN)
        #expect(error.code == .threads)
        #expect(error.message.contains("more threads (limit of processes: ulimit -u"))
        #expect(!ExhaustionError.thread(EPERM).message.contains("ulimit -u"), "another cause has its own message")
    }

    @Test func aPrivateFileIsItsOwnersOnlyAlsoWhereItWasThereBefore() throws {
        let path = "/tmp/talkie-private-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        defer { unlink(path) }
        let open = Glibc.open(path, O_WRONLY | O_CREAT, 0o644)
        write(open, "before", 6)
        close(open)
        chmod(path, 0o666)
        let descriptor = PrivateFile.create(path, O_WRONLY)
        try #require(descriptor >= 0)
        close(descriptor)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(status.st_size == 0)
    }

    @Test func aPrivateFileThatOthersCouldReadIsRefusedAndKept() throws {
        let path = "/tmp/talkie-private-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        defer { unlink(path) }
        let open = Glibc.open(path, O_WRONLY | O_CREAT, 0o644)
        write(open, "before", 6)
        close(open)
        chmod(path, 0o644)
        // Another user's file: its owner can read it whatever its permissions are.
        #expect(PrivateFile.create(path, O_WRONLY, for: geteuid() + 1) == -1 && errno == EPERM)
        // A file system without permissions.
        let refused = PrivateFile.create(path, O_WRONLY) { _, _ in
            errno = EROFS
            return -1
        }
        #expect(refused == -1 && errno == EROFS)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_size == 6)
    }

    @Test func thePermissionsOfADeviceAreUnchanged() {
        var before = stat()
        stat("/dev/null", &before)
        let descriptor = PrivateFile.create("/dev/null", O_WRONLY)
        close(descriptor)
        var after = stat()
        stat("/dev/null", &after)
        #expect(descriptor >= 0 && before.st_mode == after.st_mode)
    }
}
