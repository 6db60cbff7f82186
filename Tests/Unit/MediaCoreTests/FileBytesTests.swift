import Foundation
import Glibc
import Testing

@testable import MediaCore

@Suite struct FileBytesTests {
    private final class Folder {
        let path = NSTemporaryDirectory() + "talkie-bytes-\(UUID().uuidString)"
        init() { mkdir(path, 0o700) }
        // ignored: a folder that stays in /tmp changes no test.
        deinit { try? FileManager.default.removeItem(atPath: path) }
        func path(_ name: String) -> String { path + "/" + name }
        func write(_ bytes: [UInt8], to name: String) -> String {
            precondition(FileManager.default.createFile(atPath: path(name), contents: Data(bytes)))
            return path(name)
        }
    }
    private let folder = Folder()

    /// Returns read(2) that fails with EIO once it has returned a number of bytes.
    private func failing(after limit: Int) -> FileBytes.Read {
        var count = 0
        return { descriptor, buffer, wanted in
            guard count < limit else {
                errno = EIO
                return -1
            }
            let got = read(descriptor, buffer, min(wanted, limit - count))
            count += got
            return got
        }
    }

    @Test func aReadThatFailsAfterSomeBytesIsAnErrorAndNoShorterFile() throws {
        let path = folder.write(Array(repeating: UInt8(ascii: "a"), count: 10_000), to: "text")
        let descriptor = FileBytes.openRegular(path)
        defer { close(descriptor) }
        let failure = #expect(throws: FileBytes.Failure.self) {
            try FileBytes.read(descriptor, maxBytes: 20_000, by: failing(after: 5000))
        }
        #expect(failure?.code == EIO)
        #expect(TextFile.contents(path, limit: 20_000).utf8.count == 10_000)
        #expect(TextFile.contents(path, limit: 7000).utf8.count == 7000)
        #expect(TextFile.contents(path, limit: 20_000, by: failing(after: 5000)).isEmpty)
    }

    @Test func onlyARegularFileIsOpened() throws {
        let (pipe, link) = (folder.path("pipe"), folder.path("link"))
        try #require(mkfifo(pipe, 0o600) == 0 && symlink(pipe, link) == 0)
        let watch = inotify_init1(Int32(IN_NONBLOCK))
        defer { close(watch) }
        try #require(inotify_add_watch(watch, pipe, UInt32(IN_OPEN)) >= 0)
        for (path, code) in [
            (pipe, ENOTSUP), (link, ENOTSUP), ("/dev/null", ENOTSUP), (folder.path, EISDIR),
            (folder.path("none"), ENOENT),
        ] {
            let descriptor = FileBytes.openRegular(path)
            #expect(descriptor == -1 && errno == code, "\(path)")
        }
        var event = [UInt8](repeating: 0, count: 4096)
        #expect(read(watch, &event, event.count) < 0, "the pipe was opened")
        let file = folder.write([1, 2, 3], to: "file")
        #expect(try FileBytes.readRegular(file, maxBytes: 2) == [1, 2])
    }
}

@Suite struct WorkBudgetTests {
    @Test func workEndsAtItsLimitAndSoonAfterACancellation() throws {
        var budget = WorkBudget(100)
        for _ in 0..<10 { try budget.spend(10) }
        #expect(throws: WorkBudget.Exceeded.limit) { try budget.spend() }
        var (isCancelled, done) = (false, 0)
        budget = WorkBudget(.max) { isCancelled }
        try budget.spend()
        isCancelled = true
        #expect(throws: WorkBudget.Exceeded.cancelled) {
            while done < 1 << 20 {
                try budget.spend()
                done += 1
            }
        }
        #expect(done < 1 << 15)
    }
}

@Suite struct SeqLockTests {
    private struct Pair: BitwiseCopyable, Sendable, Equatable {
        var first: UInt64
        var second: UInt32
    }

    /// A real-time reader may preempt the writer anywhere in a store, which then does not continue.
    @Test func aReaderThatInterruptsAStoreReadsTheValueBeforeIt() {
        let lock = SeqLock(Pair(first: 1, second: 1))
        for number in 2...5 as ClosedRange<UInt64> {
            lock.prepare(Pair(first: number, second: UInt32(number)))
            #expect(lock.load() == Pair(first: number - 1, second: UInt32(number - 1)))
            lock.publish()
            #expect(lock.load() == Pair(first: number, second: UInt32(number)))
        }
    }

    @Test func aCopyIsThatOfOneStore() throws {
        let lock = SeqLock(Pair(first: 0, second: 0))
        let writer = try WorkerThread.start(name: "writer") {
            for number in 1...200_000 as ClosedRange<UInt64> { lock.store(Pair(first: number, second: UInt32(number))) }
        }
        var last: UInt64 = 0
        while last < 200_000 {
            let pair = lock.load()
            guard pair.first == pair.second, pair.first >= last else {
                Issue.record("\(pair) after \(last)")
                break
            }
            last = pair.first
        }
        writer.join()
    }
}

@Suite struct WorkerPriorityTests {
    /// Libraries start threads on the thread that opens a device.
    @Test(arguments: [WorkerThread.Priority.realtime(5), .elevated])
    func aThreadThatALibraryCreatesIsNormal(_ priority: WorkerThread.Priority) throws {
        let found = Lock<(policy: Int32, nice: Int32)?>(nil)
        let worker = try WorkerThread.start(name: "device", priority: priority) {
            var inner = pthread_t()
            let passed = Unmanaged.passUnretained(found).toOpaque()
            let code = pthread_create(
                &inner, nil,
                { raw in
                    let found = Unmanaged<Lock<(policy: Int32, nice: Int32)?>>.fromOpaque(raw!).takeUnretainedValue()
                    let nice = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
                    found.withLock { $0 = (sched_getscheduler(0), nice) }
                    return nil
                }, passed)
            if code == 0 { pthread_join(inner, nil) }
        }
        worker.join()
        let inherited = try #require(found.withLock { $0 })
        #expect(inherited.policy == SCHED_OTHER && inherited.nice >= 0, "\(inherited.policy) \(inherited.nice)")
    }
}
