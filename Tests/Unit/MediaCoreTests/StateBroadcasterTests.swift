import Glibc
import Testing

@testable import MediaCore

@Suite struct StateBroadcasterTests {
    private let never = HostInstant(nanoseconds: .max)
    private let already = HostInstant(nanoseconds: 0)

    @Test func whatIsThereAlreadyIsNotWaitedFor() {
        let board = StateBroadcaster(3)
        let (value, satisfied) = board.wait(until: already) { $0 == 3 }
        #expect(value == 3 && satisfied)
        let (last, comes) = board.wait(until: already) { $0 == 4 }
        #expect(last == 3 && !comes)
    }

    @Test(.timeLimit(.minutes(10))) func aWaiterWakesForTheValueAndChecksOnlyNewOnes() {
        let board = StateBroadcaster(0)
        let waits = Signal()
        let asked = Lock(0)
        let thread = try! WorkerThread.start(name: "poster") {
            waits.wait()
            for value in 1...5 { board.update { $0 = value } }
        }
        let (value, satisfied) = board.wait(until: never) { value in
            if asked.withLock({ count in
                count += 1
                return count
            }) == 1 {
                waits.raise()
            }
            return value == 5
        }
        thread.join()
        #expect(value == 5 && satisfied)
        // A signal that was cleared together with an older one may cause one additional check.
        #expect(asked.withLock { $0 } <= 7)
    }

    @Test(.timeLimit(.minutes(10))) func theEndReleasesAllWaitersWithTheLastValue() {
        let board = StateBroadcaster(1)
        let waits = Signal()
        let answers = Lock<[Int]>([])
        let threads = (0..<3).map { _ in
            try! WorkerThread.start(name: "waiter") {
                let (value, satisfied) = board.wait(until: HostInstant(nanoseconds: .max)) { _ in
                    waits.raise()
                    return false
                }
                answers.withLock { $0.append(satisfied ? -1 : value) }
            }
        }
        for _ in threads { waits.wait() }
        board.update { $0 = 2 }
        board.finish()
        for thread in threads { thread.join() }
        #expect(answers.withLock { $0 } == [2, 2, 2])
        board.update { $0 = 3 }
        #expect(board.value == 2, "nothing is posted after the end")
        let (last, comes) = board.wait(until: never) { $0 == 3 }
        #expect(last == 2 && !comes)
    }

    @Test(.timeLimit(.minutes(10))) func aReaderHearsTheValueThatIsThereTheLastOneAndTheEnd() async {
        let board = StateBroadcaster("first")
        #expect(!board.hasReaders)
        let values = board.values
        #expect(board.hasReaders)
        for value in ["second", "second", "third"] { board.update { $0 = value } }
        board.finish()
        #expect(!board.hasReaders)
        var heard: [String] = []
        for await value in values { heard.append(value) }
        #expect(heard == ["third"], "who reads slowly misses values, not the last")
        var late: [String] = []
        for await value in board.values { late.append(value) }
        #expect(late == ["third"])
    }

    @Test(.timeLimit(.minutes(10))) func aReaderThatIsCancelledDuringAChangeBlocksNobody() async throws {
        let board = StateBroadcaster(0)
        let (reads, changes) = (Signal(), Signal())
        let reader = Task {
            for await value in board.values where value == 0 { reads.raise() }
        }
        let ends = Lock(0)
        let threads = try [
            WorkerThread.start(name: "changer") {
                reads.wait()
                board.update {
                    $0 = 1
                    changes.raise()
                    // From then on, the task is locked until the reader has been removed.
                    while !reader.isCancelled { sched_yield() }
                }
                ends.withLock { $0 += 1 }
            },
            WorkerThread.start(name: "canceller") {
                changes.wait()
                reader.cancel()
                ends.withLock { $0 += 1 }
            },
        ]
        // Threads that wait for one another cannot be joined; the time limit ends this loop.
        while ends.withLock({ $0 }) < 2 { try await Task.sleep(for: .milliseconds(5)) }
        for thread in threads { thread.join() }
        await reader.value
        #expect(!board.hasReaders)
    }

    @Test(.timeLimit(.minutes(10))) func aReaderThatLeavesIsForgotten() async {
        let board = StateBroadcaster(0)
        for await _ in board.values { break }
        #expect(!board.hasReaders)
    }

    @Test(.timeLimit(.minutes(10))) func aReaderHearsValuesInTheirOrderAndTheLastOne() async throws {
        let board = StateBroadcaster(0)
        let threads = try (1...4).map { start in
            try WorkerThread.start(name: "changer") {
                for _ in 0..<1000 { board.update { $0 += start } }
            }
        }
        let values = board.values
        let reader = Task {
            var heard: [Int] = []
            for await value in values { heard.append(value) }
            return heard
        }
        for thread in threads { thread.join() }
        board.finish()
        let heard = await reader.value
        #expect(heard == Array(Set(heard)).sorted() && heard.last == 10_000)
    }

    @Test(.timeLimit(.minutes(10))) func aReaderHearsTheLastValueBeforeAnEndThatFollowsAtOnce() async throws {
        for _ in 0..<20 {
            let board = StateBroadcaster(0)
            let values = board.values
            let reader = Task {
                var last = 0
                for await value in values { last = value }
                return last
            }
            let changer = try WorkerThread.start(name: "changer") { board.update { $0 = 1 } }
            while board.value == 0 { sched_yield() }
            board.finish()
            changer.join()
            #expect(await reader.value == 1)
        }
    }
}
