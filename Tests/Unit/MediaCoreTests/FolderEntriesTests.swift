import Foundation
import Glibc
import Testing

@testable import MediaCore

@Suite struct FolderEntriesTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "talkie-\(UUID().uuidString)")

    @Test func eachNameIsGivenOnceUntilTheCallerHasEnough() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // More than one read of the system returns.
        let files = (0..<1500).map { "a film with subtitles in many languages \($0).srt" }
        for file in files { #expect(FileManager.default.createFile(atPath: folder.path + "/" + file, contents: nil)) }
        var names: [String] = []
        let isRead = FolderEntries.forEachName(in: folder.path) { name in
            names.append(name)
            return true
        }
        #expect(isRead && names.sorted() == files.sorted())
        names = []
        FolderEntries.forEachName(in: folder.path) { name in
            names.append(name)
            return names.count < 3
        }
        #expect(names.count == 3)
    }

    @Test func aFolderThatIsMissingHasItsReason() {
        errno = 0
        #expect(!FolderEntries.forEachName(in: folder.path) { _ in true } && errno == ENOENT)
    }

    /// The last entry may end where the memory of the folder's reader ends: reading its name ended the program.
    @Test func anEntryAtTheEndOfMappedMemoryIsReadToItsNamesEndOnly() throws {
        let page = Int(getpagesize())
        let memory = try #require(mmap(nil, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
        defer { munmap(memory, 2 * page) }
        mprotect(memory + page, page, PROT_NONE)
        let name = Array("film.srt".utf8) + [0]
        // Entries begin at multiples of eight bytes.
        let size = (MemoryLayout<dirent>.offset(of: \.d_name)! + name.count + 7) / 8 * 8
        let entry = memory + page - size
        (entry + MemoryLayout<dirent>.offset(of: \.d_name)!).copyMemory(from: name, byteCount: name.count)
        #expect(FolderEntries.name(of: entry.assumingMemoryBound(to: dirent.self)) == "film.srt")
    }
}
