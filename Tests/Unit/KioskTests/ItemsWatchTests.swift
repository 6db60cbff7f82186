import Foundation
import Glibc
import MediaCore
import Testing

@testable import Kiosk
@testable import Playback

/// Which films a kiosk finds, and when it scans again.
@Suite struct ItemsWatchTests {
    private final class Folder {
        let path = NSTemporaryDirectory() + "talkie-kiosk-\(UUID().uuidString)"
        init() { try! FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
        func write(_ name: String, _ text: String = "film") {
            precondition(FileManager.default.createFile(atPath: "\(path)/\(name)", contents: Data(text.utf8)))
        }
    }

    @Test func aFolderIsFoundInNaturalOrderAndWatched() {
        let folder = Folder()
        for name in ["10.mp4", "9.mp4", "notes.txt"] { folder.write(name) }
        let (found, folders) = ItemsWatch.findItems(for: [folder.path], search: 1)
        #expect(found.items.map(\.address) == ["\(folder.path)/9.mp4", "\(folder.path)/10.mp4"])
        #expect(found.items.allSatisfy { $0.edition != nil })
        #expect(folders.contains(folder.path))
    }

    @Test func aFilmThatIsNotThereYetIsWaitedForInItsFolder() {
        let folder = Folder()
        let (found, folders) = ItemsWatch.findItems(for: ["\(folder.path)/later/film.mp4"], search: 1)
        #expect(found.items.isEmpty)
        #expect(found.failure?.contains("there is no file") == true)
        #expect(folders == [folder.path])
    }

    @Test func aPlaylistAndTheFoldersOfItsFilmsAreWatched() throws {
        let (lists, films) = (Folder(), Folder())
        films.write("a.mp4")
        lists.write("list.m3u", "\(films.path)/a.mp4\n")
        let (found, folders) = ItemsWatch.findItems(for: ["\(lists.path)/list.m3u"], search: 1)
        #expect(found.items.map(\.address) == ["\(films.path)/a.mp4"])
        #expect(folders == [lists.path, films.path])
    }

    @Test func aFolderOfTwoNamesIsWatchedUntilBothAreGone() throws {
        let (folder, links) = (Folder(), Folder())
        symlink(folder.path, "\(links.path)/other")
        var watch = try FolderWatch()
        var refused = watch.watch([folder.path, "\(links.path)/other"])
        #expect(refused.isEmpty)
        refused = watch.watch([folder.path])
        #expect(refused.isEmpty)
        _ = watch.hasChanged()
        folder.write("a.mp4")
        let event = watch.hasChanged()
        #expect(event, "the other name is still watched")
        refused = watch.watch([])
        _ = watch.hasChanged()
        folder.write("b.mp4")
        let none = watch.hasChanged()
        #expect(refused.isEmpty && !none)
    }

    @Test func addedRemovedAndReplacedFilmsAreDetected() throws {
        let folder = Folder()
        var watch = try FolderWatch()
        let refused = watch.watch([folder.path])
        #expect(refused.isEmpty)
        let news1 = watch.hasChanged()
        #expect(!news1)
        folder.write("a.mp4")
        let news2 = watch.hasChanged()
        #expect(news2)
        folder.write(".b.mp4.part")
        let news3 = watch.hasChanged()
        #expect(!news3)
        rename("\(folder.path)/.b.mp4.part", "\(folder.path)/a.mp4")
        let news4 = watch.hasChanged()
        #expect(news4)
        unlink("\(folder.path)/a.mp4")
        let news5 = watch.hasChanged()
        #expect(news5)
    }

    @Test func aFileThatIsStillBeingWrittenIsNotPlayed() throws {
        let folder = Folder()
        var watch = try FolderWatch()
        _ = watch.watch([folder.path])
        let path = "\(folder.path)/a.mp4"
        let writer = open(path, O_WRONLY | O_CREAT, 0o600)
        #expect(write(writer, "x", 1) == 1)
        let news6 = watch.hasChanged()
        #expect(!news6)
        let unfinished11 = watch.unfinished
        #expect(unfinished11 == [path])
        let found13 = ItemsWatch.findItems(for: [folder.path], search: 1, without: watch.unfinished).found.items
        #expect(found13.isEmpty)
        close(writer)
        let news7 = watch.hasChanged()
        #expect(news7)
        let unfinished12 = watch.unfinished
        #expect(unfinished12.isEmpty)
        let found14 = ItemsWatch.findItems(for: [folder.path], search: 1, without: watch.unfinished).found.items
        #expect(found14.count == 1)
    }

    @Test(arguments: ["", "/"]) func aFolderThatIsRenamedHasNoUnfinishedFiles(_ slash: String) throws {
        let folder = Folder()
        let inner = folder.path + "/inner"
        mkdir(inner, 0o700)
        var watch = try FolderWatch()
        _ = watch.watch([inner + slash])
        let writer = open("\(inner)/a.mp4", O_WRONLY | O_CREAT, 0o600)
        defer { close(writer) }
        _ = watch.hasChanged()
        let before = watch.unfinished
        rename(inner, folder.path + "/other")
        _ = watch.hasChanged()
        let after = watch.unfinished
        #expect(before == ["\(inner)/a.mp4"] && after.isEmpty)
    }

    @Test func aFileWhoseEventsAreLostIsNotUnfinished() throws {
        let folder = Folder()
        for name in ["b.mp4", "c.mp4"] { folder.write(name) }
        var watch = try FolderWatch()
        _ = watch.watch([folder.path])
        let writer = open("\(folder.path)/a.mp4", O_WRONLY | O_CREAT, 0o600)
        _ = watch.hasChanged()
        let limit = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
        // Equal events in a row are one.
        for number in 0...(try #require(Int(limit.trimmingCharacters(in: .whitespacesAndNewlines)))) {
            chmod("\(folder.path)/\(number % 2 == 0 ? "b" : "c").mp4", 0o600)
        }
        close(writer)
        let hasChanged = watch.hasChanged()
        let unfinished = watch.unfinished
        #expect(hasChanged && unfinished.isEmpty)
    }

    @Test func aFolderThatIsRemovedIsForgottenAndMayComeAgain() throws {
        let folder = Folder()
        let inner = folder.path + "/inner"
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        var watch = try FolderWatch()
        _ = watch.watch([folder.path, inner])
        rmdir(inner)
        let news8 = watch.hasChanged()
        #expect(news8)
        mkdir(inner, 0o700)
        let news9 = watch.hasChanged()
        #expect(news9)
        _ = watch.watch([folder.path, inner])
        #expect(FileManager.default.createFile(atPath: inner + "/a.mp4", contents: Data("x".utf8)))
        let news10 = watch.hasChanged()
        #expect(news10)
    }
}
