import Foundation
import MediaCore
import Testing

@testable import Kiosk
@testable import Playback
@testable import Storage

/// Which items are suspected of a crash.
@Suite struct CrashHistoryTests {
    private let day = WallTime(seconds: 1_700_000_000)

    /// Returns the history that the process after a crash reads.
    private func next(
        _ history: CrashHistory, at now: WallTime? = nil, afterCrash: Bool = true
    ) throws -> CrashHistory {
        let record = try StateRecord(
            kind: CrashHistory.kind, version: CrashHistory.version, decoding: history.record.encoded())
        var next = CrashHistory(record)
        _ = next.begin(at: now ?? day, afterCrash: afterCrash)
        return next
    }

    @Test func anItemThatWasOpenAtTwoEndsInARowIsSkipped() throws {
        var history = CrashHistory()
        history.recordOpening("good", edition: "1")
        history.recordBegan("good")
        history.recordOpening("bad", edition: "1")
        history = try next(history)
        #expect(history.isSuspect("good") && history.isSuspect("bad"))
        #expect(!history.isSkipped("good", edition: "1") && !history.isSkipped("bad", edition: "1"))
        // Opened alone, the good one plays to its end.
        history.recordOpening("good", edition: "1")
        history.recordBegan("good")
        history.clearStrikes("good")
        history.recordOpening("bad", edition: "1")
        history.recordBegan("bad")
        history = try next(history)
        #expect(history.isSkipped("bad", edition: "1"))
        #expect(!history.isSkipped("good", edition: "1") && !history.isSuspect("good"))
    }

    /// Two crashes while it is opened, ahead and alone: the first picture of the bad one is never perceived.
    @Test func theItemBeforeTheBlamedOneIsNoSuspectAgain() throws {
        var history = CrashHistory()
        history.recordOpening("good", edition: "1")
        history.recordBegan("good")
        history.recordOpening("bad", edition: "1")
        history = try next(history)
        history.recordOpening("good", edition: "1")
        history.recordBegan("good")
        history.clearStrikes("good")
        history.recordOpening("bad", edition: "1")
        history = try next(history)
        #expect(history.isSkipped("bad", edition: "1") && !history.isSuspect("good"))
    }

    @Test func whichSuspectsWereOnlyOpenedAheadIsKept() throws {
        var history = CrashHistory()
        for key in ["playing", "next", "later"] { history.recordOpening(key, edition: "1") }
        history.recordBegan("playing")
        history = try next(history)
        #expect(["playing", "next", "later"].map { history.wasOpenedAhead($0) } == [false, true, true])
        history = try next(history)
        #expect(history.wasOpenedAhead("next") && history.isSuspect("next"))
        history.recordOpening("next", edition: "1")
        history = try next(history)
        #expect(history.isSkipped("next", edition: "1") && !history.wasOpenedAhead("next"))
    }

    @Test func killsBlameNothingAndDoNotForgiveACrash() throws {
        var history = CrashHistory()
        history.recordOpening("a", edition: "1")
        history = try next(history)
        for _ in 0..<30 {
            history.recordOpening("a", edition: "1")
            history.recordOpening("b", edition: "1")
            history = try next(history, afterCrash: false)
        }
        #expect(history.isSuspect("a") && !history.isSkipped("a", edition: "1") && !history.isSuspect("b"))
    }

    @Test func anEndThatWasAskedForBlamesNothing() throws {
        var history = CrashHistory()
        for _ in 0..<3 {
            history.recordOpening("a", edition: "1")
            history.close()
            history = try next(history)
        }
        #expect(!history.isSuspect("a"))
    }

    @Test func endsWithAWholePlayingBetweenThemAreNotInARow() throws {
        var history = CrashHistory()
        for _ in 0..<4 {
            history.recordOpening("a", edition: "1")
            history = try next(history)
            history.clearStrikes("a")
        }
        #expect(!history.isSkipped("a", edition: "1"))
    }

    @Test func aChangedFileIsPlayedAgainAndADayLaterSoIsTheSame() throws {
        var history = CrashHistory()
        for _ in 0..<2 {
            history.recordOpening("a", edition: "1")
            history = try next(history)
        }
        #expect(history.isSkipped("a", edition: "1") && !history.isSkipped("a", edition: "2"))
        let early = history.expire(at: WallTime(seconds: day.seconds + 86_399))
        #expect(!early)
        let late = history.expire(at: WallTime(seconds: day.seconds + 86_400))
        #expect(late && !history.isSkipped("a", edition: "1") && history.isSuspect("a"))
        // One more crash is sufficient then.
        history.recordOpening("a", edition: "1")
        history = try next(history, at: WallTime(seconds: day.seconds + 86_500))
        #expect(history.isSkipped("a", edition: "1"))
        history.recordOpening("a", edition: "2")
        #expect(!history.isSuspect("a"))
    }

    @Test func aHandledItemFailureIsNoCrashSuspect() throws {
        var history = CrashHistory()
        history.recordOpening("a", edition: "1")
        history.recordOpening("b", edition: "1")
        history.recordFailed("a")
        history = try next(history)
        #expect(!history.isSuspect("a") && history.isSuspect("b"))
    }

    @Test func onAWallTheItemThatWasOpenedLastIsBlamed() throws {
        var history = CrashHistory()
        for _ in 0..<2 {
            for key in ["a", "b", "c"] { history.recordOpening(key, edition: "1") }
            history = try next(history)
        }
        #expect(["a", "b", "c"].filter { history.isSkipped($0, edition: "1") } == ["c"])
    }

    @Test func anItemThatIsMeasuredAtTwoEndsInARowIsSkippedAndThoseMeasuredBeforeAreNot() throws {
        var history = CrashHistory()
        for _ in 0..<2 {
            history.recordMeasuring("a", edition: "1")
            history.recordMeasured("a")
            history.recordMeasuring("bad", edition: "1")
            history = try next(history)
        }
        #expect(history.isSkipped("bad", edition: "1") && !history.isSuspect("a"))
    }

    @Test func anItemThatIsMeasuredWhileItPlaysIsOneSuspectAndStaysOpen() throws {
        var history = CrashHistory()
        history.recordOpening("a", edition: "1")
        history.recordMeasuring("a", edition: "2")
        let during = try next(history)
        #expect(during.isSuspect("a") && !during.isSkipped("a", edition: "2"))
        history.recordMeasured("a")
        #expect(try next(history).isSuspect("a"))
    }

    @Test func anItemThatEndsTheProgramOnceMoreStaysSkipped() throws {
        var history = CrashHistory()
        for _ in 0..<4 {
            history.recordOpening("a", edition: "1")
            history = try next(history)
        }
        #expect(try next(history).isSkipped("a", edition: "1"))
    }

    @Test func whatIsRememberedIsBoundedAndReadsWhateverTheFileSays() throws {
        var history = CrashHistory()
        for number in 0..<2000 {
            history.recordOpening("\(number)", edition: "")
            if number % 50 == 0 { history = try next(history) }
        }
        #expect(history.record.encoded().count == CrashHistory.recordSize)
        #expect(CrashHistory().record.encoded().count == CrashHistory.recordSize)
        var record = StateRecord(kind: CrashHistory.kind, version: CrashHistory.version)
        for (key, value) in ["open-0": "", "crash-a": "99 1 x", "crash-b": "-1 5", "crash-": "2", "crash-c": "2 7 e"] {
            record[key] = value
        }
        let odd = CrashHistory(record)
        #expect(odd.isSkipped("c", edition: "e") && !odd.isSuspect("a") && !odd.isSuspect("b"))
    }

    @Test func addressesAreKeptWithoutTheirCredentials() {
        let keys = ["https://me:secret@a.example/f.mp4?token=1", "https://you:x@a.example/f.mp4?token=2"].map {
            CrashHistory.key(of: $0)
        }
        #expect(keys[0] != CrashHistory.key(of: "https://a.example/g.mp4"))
        #expect(keys[0].allSatisfy { $0.isHexDigit })
    }

    // MARK: File

    private func folder() -> StateFolder {
        StateFolder(path: NSTemporaryDirectory() + "talkie-crashes-\(UUID().uuidString)")
    }

    @Test func whatIsOpenedIsOnTheDiskBeforeItIsOpened() throws {
        let folder = folder()
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        let first = CrashRecord(folder, configuration: "hall.toml")
        first.begin(at: day)
        for number in 0..<40 { first.recordOpening("/films/\(number).mp4") }
        first.recordFault()
        let second = CrashRecord(folder, configuration: "hall.toml")
        second.begin(at: day)
        #expect(second.history.isSuspect(CrashHistory.key(of: "/films/39.mp4")))
        second.recordOpening("/films/39.mp4")
        second.recordFault()
        let third = CrashRecord(folder, configuration: "hall.toml")
        third.begin(at: day)
        #expect(third.history.isSkipped(CrashHistory.key(of: "/films/39.mp4"), edition: ""))
        #expect(!third.history.isSkipped(CrashHistory.key(of: "/films/38.mp4"), edition: ""))
        // Each configuration has a separate history.
        let other = CrashRecord(folder, configuration: "foyer.toml")
        other.begin(at: day)
        #expect(!other.history.isSuspect(CrashHistory.key(of: "/films/39.mp4")))
    }

    /// The next process reads the end of the last one, of this boot of the computer only.
    @Test func anEndOfAnEarlierBootBlamesNothing() throws {
        let folder = folder()
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        func isSuspectAfterNextStart() -> Bool {
            let record = CrashRecord(folder, configuration: "hall.toml")
            record.begin(at: day)
            return record.history.isSuspect(CrashHistory.key(of: "/films/a.mp4"))
        }
        let first = CrashRecord(folder, configuration: "hall.toml")
        first.begin(at: day)
        first.recordOpening("/films/a.mp4")
        first.recordFault()
        let name = KioskStateFile("kiosk_end", configuration: "hall.toml").name
        var end = try #require(try folder.read(name))
        end[0] ^= 1
        try folder.write(name, end)
        #expect(!isSuspectAfterNextStart())
    }

    @Test func aRecordThatCouldNotBeWrittenIsWrittenLater() throws {
        let folder = folder()
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        // A file in place of the folder.
        try Data().write(to: URL(filePath: folder.path))
        let record = CrashRecord(folder, configuration: "hall.toml")
        record.recordOpening("/films/a.mp4")
        try FileManager.default.removeItem(atPath: folder.path)
        // The same history again.
        record.update { _ in }
        let name = KioskStateFile("kiosk_items", configuration: "hall.toml").name
        #expect(try folder.read(name)?.count == CrashHistory.recordSize)
    }

    @Test func configurationsOfOneNameInTwoFoldersHaveARecordEachAndTheOldFileIsReadOnce() throws {
        let folder = folder()
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        var old = CrashHistory()
        old.recordOpening(CrashHistory.key(of: "/films/old.mp4"), edition: "")
        _ = old.begin(at: day, afterCrash: true)
        try folder.write("kiosk_items-hall_toml", old.record.encoded())
        func startedRecord(_ side: String) -> CrashRecord {
            let record = CrashRecord(folder, configuration: "/\(side)/hall.toml")
            #expect(record.begin(at: day) == nil)
            return record
        }
        func isSuspect(_ film: String, _ record: CrashRecord) -> Bool {
            record.history.isSuspect(CrashHistory.key(of: film))
        }
        let first = startedRecord("left")
        #expect(isSuspect("/films/old.mp4", first))
        first.recordOpening("/films/left.mp4")
        first.update { $0.clearStrikes(CrashHistory.key(of: "/films/old.mp4")) }
        first.recordFault()
        let right = startedRecord("right")
        #expect(isSuspect("/films/old.mp4", right) && !isSuspect("/films/left.mp4", right))
        let left = startedRecord("left")
        #expect(isSuspect("/films/left.mp4", left) && !isSuspect("/films/old.mp4", left))
    }

    @Test func aRecordThatCannotBeReadIsReported() throws {
        let folder = folder()
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        let file = KioskStateFile("kiosk_items", configuration: "hall.toml").name
        #expect(CrashRecord(folder, configuration: "hall.toml").begin(at: day) == nil, "there is none")
        try folder.write(file, Array("torn".utf8))
        let note = try #require(CrashRecord(folder, configuration: "hall.toml").begin(at: day))
        #expect(note.contains(file))
        let newer = Array("talkie \(CrashHistory.kind) \(CrashHistory.version + 1)\nwhatever\n".utf8)
        try folder.write(file, newer)
        let record = CrashRecord(folder, configuration: "hall.toml")
        #expect(record.begin(at: day)?.contains("newer") == true)
        record.recordOpening("/films/a.mp4")
        record.close()
        #expect(try folder.read(file) == newer, "it is left alone")
        // A directory in place of the file cannot be read, not even by root.
        try FileManager.default.removeItem(atPath: "\(folder.path)/\(file)")
        try FileManager.default.createDirectory(atPath: "\(folder.path)/\(file)", withIntermediateDirectories: true)
        #expect(CrashRecord(folder, configuration: "hall.toml").begin(at: day)?.contains(file) == true)
    }
}
