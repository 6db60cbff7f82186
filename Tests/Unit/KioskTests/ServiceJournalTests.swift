import Glibc
import MediaCore
import Testing

@testable import Kiosk

@Suite struct ServiceJournalTests {
    /// The entries that a journal received.
    private final class Book: Sendable {
        let entries = Lock<[[String]]>([])
        let read = Signal()
        /// Raised to let the journal accept one entry.
        let gate = Signal()
        private let written = Signal()

        func add(_ fields: [String]) {
            entries.withLock { $0.append(fields) }
            written.raise()
        }

        /// Waits for entries, because `close` waits for a fifth of a second only.
        func wait(for count: Int) {
            for _ in 0..<count where !written.wait(until: .now.advanced(by: .seconds(30))) { return }
        }
    }

    @Test func sentencesHaveFields() throws {
        let book = Book()
        let journal = try ServiceJournal(identifier: "talkie") { fields in book.add(fields) }
        journal.write(
            .warning, "'Hall' is silent",
            KioskNote(.repair, item: "https://me:secret@example.org/a.mp4", stage: "reopen route"))
        journal.write(.error, "two\nlines")
        journal.close()
        book.wait(for: 2)
        #expect(
            book.entries.withLock { $0 } == [
                [
                    "MESSAGE='Hall' is silent.", "PRIORITY=4", "SYSLOG_IDENTIFIER=talkie", "TALKIE_EVENT=repair",
                    "TALKIE_ITEM=https://…@example.org/a.mp4", "TALKIE_STAGE=reopen route",
                ],
                ["MESSAGE=two\u{FFFD}lines.", "PRIORITY=3", "SYSLOG_IDENTIFIER=talkie"],
            ])
    }

    @Test func aSlowJournalDoesNotBlockAndTheMissingMessagesAreCounted() throws {
        let book = Book()
        let journal = try ServiceJournal(identifier: "talkie") { fields in
            book.read.raise()
            book.gate.wait()
            book.add(fields)
        }
        journal.write(.info, "first")
        book.read.wait()
        for number in 0..<300 { journal.write(.info, "\(number)") }
        for _ in 0..<300 { book.gate.raise() }
        journal.close()
        book.wait(for: 258)
        let entries = book.entries.withLock { $0 }
        #expect(entries.count == 258)
        #expect(entries.last?.first == "MESSAGE=44 messages were dropped because the journal was too slow.")
    }

    @Test func standardErrorIsTheJournalWhereDeviceAndInodeAgree() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        var status = stat()
        fstat(ends[1], &status)
        #expect(ServiceJournal.isStream(ends[1], "\(status.st_dev):\(status.st_ino)"))
        #expect(!ServiceJournal.isStream(ends[1], "\(status.st_dev):\(status.st_ino + 1)"))
        for text in ["", ":", "1", "a:b", "1:2:3", "-1:5"] {
            #expect(!ServiceJournal.isStream(ends[1], text), "\(text)")
        }
    }

    @Test func withoutAJournalSentencesArePlain() {
        let said = Lock<[String]>([])
        let log = KioskLog(maxLevel: .warning, journal: nil) { level, text in
            said.withLock { $0.append("\(level): \(text)") }
        }
        log.say(.warning, "'Hall' is silent", KioskNote(.fault))
        log.say(.info, "less")
        log.close()
        #expect(said.withLock { $0 } == ["warning: 'Hall' is silent"])
    }

    @Test func theJournalOfThisComputerTakesASentenceOrIsNotThere() {
        // libsystemd returns 0 even without a journal (sd_journal_send(3)), and an error for an invalid field.
        #expect(ServiceJournal.send(["MESSAGE=A test of Talkie", "PRIORITY=7"]) == 0)
        #expect(ServiceJournal.send(["no field"]) < 0)
    }
}
