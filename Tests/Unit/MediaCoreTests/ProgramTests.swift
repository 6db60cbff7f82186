import Glibc
import MediaCore
import Testing

/// Programs and libraries of the system that are looked up on demand.
@Suite struct ProgramTests {
    @Test func aLibraryIsOpenedAndItsFunctionsAreFoundByName() throws {
        let library = try #require(OptionalLibrary("libm.so.6"))
        let cosine: @convention(c) (Double) -> Double = try library.function("cos")
        #expect(cosine(0) == 1)
        #expect(throws: OptionalLibrary.Absent.self) {
            let _: @convention(c) () -> Void = try library.function("talkie_has_no_such_function")
        }
    }

    @Test func aMissingOrUnloadedProgramIsNil() {
        #expect(OptionalLibrary("libtalkie-has-no-such.so.1") == nil)
        // A library that Debian's ncurses contains and this process does not load.
        #expect(OptionalLibrary("libpanel.so.6", onlyLoaded: true) == nil)
        #expect(OptionalLibrary("libc.so.6", onlyLoaded: true) != nil)
    }

    @Test func aProgramHasTheStreamsThatItIsGivenAndMayBeStartedWithoutAnEnvironment() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { close(ends[0]) }
        var program = ProgramStart("/bin/sh", ["-c", "cat; env | grep -c ^HOME=; ls /proc/self/fd | wc -l"])
        program.output = .descriptor(ends[1])
        program.hasEnvironment = false
        let child = try program.start()
        close(ends[1])
        var (bytes, status) = ([UInt8](repeating: 0, count: 64), Int32(0))
        var text = ""
        while case let count = read(ends[0], &bytes, bytes.count), count > 0 {
            text += String(decoding: bytes[..<count], as: UTF8.self)
        }
        #expect(waitpid(child, &status, 0) == child && status == 0)
        // No input, no HOME, and four descriptors: three streams and that of the listing.
        #expect(text.split(whereSeparator: \.isWhitespace) == ["0", "4"])
    }

    /// As in a process that ignores SIGCHLD: the kernel, here the test, has taken the status.
    @Test func aStatusThatWasTakenIsUnknownAndNotZero() throws {
        let path = "/tmp/talkie-status-\(getpid())-\(UInt64.random(in: .min ... .max))"
        defer { unlink(path) }
        var isTaken = false
        let outcome = try BoundedProgram.run(
            "/bin/sh", ["-c", "echo $$ > \(path).new; mv \(path).new \(path); exit 3"], maxBytes: 100,
            timeout: .seconds(60)
        ) {
            guard !isTaken else { return false }
            var (text, status) = ([CChar](repeating: 0, count: 32), Int32(0))
            var file: Int32 = -1
            while file < 0 {
                file = open(path, O_RDONLY)
                sched_yield()
            }
            defer { close(file) }
            guard read(file, &text, 31) > 1 else { return true }
            isTaken = waitpid(atoi(text), &status, 0) > 0
            return false
        }
        #expect(isTaken && outcome.status == nil)
    }

    @Test func oneThatCannotBeStartedSaysWhy() {
        let program = ProgramStart("/nonexistent/program", [])
        let refusal = #expect(throws: ProgramStart.Refusal.self) { try program.start() }
        #expect(refusal?.code == ENOENT && refusal?.cause == "No such file or directory")
    }
}
