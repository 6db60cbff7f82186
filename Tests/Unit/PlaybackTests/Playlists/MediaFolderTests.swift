import Foundation
import TalkieTestKit
import Testing

@testable import MediaCore
@testable import Playback

@Suite struct MediaFolderTests {
    private let folder = TemporaryFolder()

    private func make(_ names: String...) {
        for name in names {
            let parent = (folder.path(name) as NSString).deletingLastPathComponent
            try? FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            folder.write("x", to: name)
        }
    }

    private func listed() -> [String] {
        MediaFolder(folder.path, maxItems: 100).files.map { String($0.dropFirst(folder.path.count + 1)) }
    }

    @Test func aFolderPlaysInNaturalOrderWithItsSubfoldersAsMpvDoes() throws {
        // mpv 0.35.1 plays exactly these, and note.txt in addition.
        make(
            "ep 10.wav", "ep 2.wav", "Ep 1.wav", "s2/a2.wav", "s2/a10.wav", "S10/b.wav", "zz.wav", ".hid.wav",
            ".h/x.wav",
            "a.wav", "ep 02b.wav", "note.txt", "cover.jpg")
        let order = [
            "a.wav", "Ep 1.wav", "ep 2.wav", "ep 02b.wav", "ep 10.wav", "s2/a2.wav", "s2/a10.wav", "S10/b.wav",
            "zz.wav",
        ]
        #expect(listed() == order)
        #expect(try PlaylistLoader([folder.path]).items.map(\.address) == order.map(folder.path))
        #expect(try PlaylistLoader([folder.path + "/"]).items.count == order.count)
        #expect(try PlaylistLoader(["file://" + folder.path, folder.path("a.wav")]).items.count == order.count + 1)
    }

    @Test func deletedFilesAndThoseOfTheSystemAreNotPlayed() {
        make(
            "$RECYCLE.BIN/S-1-5/$R1.mp4", "System Volume Information/a.mp4", "__MACOSX/b.mp4", "lost+found/c.mkv",
            "RECYCLER/d.avi", "FOUND.000/e.mp4", "@eaDir/f.jpg", ".Trash-1000/g.mp4", "~$h.mp4", "i.mp4.part", "j.mp4",
            "Recycling/k.mp4")
        #expect(listed() == ["j.mp4", "Recycling/k.mp4"])
    }

    @Test func picturesArePlayedOfAFolderThatHoldsNothingElse() throws {
        make("p 10.JPG", "p 2.png", "deep/q.webp", "note.txt")
        #expect(listed() == ["deep/q.webp", "p 2.png", "p 10.JPG"])
        make("song.flac")
        #expect(listed() == ["song.flac"])
    }

    @Test func aFolderIsBoundedAndLinksThatLeadBackAreNotFollowed() throws {
        make("a.mkv", "b.mkv", "c/d.mkv")
        try FileManager.default.createSymbolicLink(atPath: folder.path("c/back"), withDestinationPath: folder.path)
        #expect(listed() == ["a.mkv", "b.mkv", "c/d.mkv"])
        let few = MediaFolder(folder.path, maxItems: 2)
        #expect(few.files.count == 2 && few.warnings.count == 1)
    }

    @Test func aFolderWithoutMediaIsRefusedOrReportedAmongOthers() throws {
        make("x/letter.txt", "film.mkv")
        #expect(throws: TalkieError.self) { try PlaylistLoader([folder.path("x")]) }
        let list = try PlaylistLoader([folder.path("x"), folder.path("film.mkv")])
        #expect(list.items.count == 1 && list.failures.count == 1)
        #expect(list.failures[0].message.contains("contains no films, recordings or pictures"))
    }

    @Test func theNextEpisodeHasAHigherNumberInTheSameName() {
        make(
            "Show S01E02 Pilot.mkv", "Show S01E03 The heist.mkv", "Show S01E10.mkv", "Show S02E01.mkv",
            "Show S01E03.srt", "Alien.mkv",
            "Brazil.mkv", "Other S01E04.mkv")
        func next(_ name: String) -> String? {
            MediaFolder.next(after: folder.path(name)).map { String($0.dropFirst(folder.path.count + 1)) }
        }
        #expect(next("Show S01E02 Pilot.mkv") == "Show S01E03 The heist.mkv")
        #expect(next("Show S01E03 The heist.mkv") == "Show S01E10.mkv")
        #expect(next("Show S01E10.mkv") == "Show S02E01.mkv")
        #expect(next("Show S02E01.mkv") == nil && next("Alien.mkv") == nil && next("missing 1.mkv") == nil)
    }

    @Test(arguments: [
        ("2", "10"), ("a2b", "a10"), ("A1", "a2"), ("a", "a1"), ("a01", "a1"), ("9", "a"), ("x 9", "x 09b"),
    ])
    func naturalOrderCountsNumbers(pair: (String, String)) {
        #expect(NaturalOrder.precedes(pair.0, pair.1) && !NaturalOrder.precedes(pair.1, pair.0))
        #expect(!NaturalOrder.precedes(pair.0, pair.0))
    }
}
