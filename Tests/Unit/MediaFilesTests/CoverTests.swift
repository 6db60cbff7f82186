import MediaCodecs
import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import MediaFiles

@Suite struct CoverTests {
    private let folder = TemporaryFolder()

    private static let tags =
        "-metadata title=Lied -metadata artist=Sänger -metadata album=Platte -metadata genre=Polka -metadata track=3/12"

    private func cover(_ name: String = "cover.jpg", size: String = "60x40") throws -> String {
        try TestClips.make(name, ["-f", "lavfi", "-i", "testsrc=s=\(size)", "-frames:v", "1"])
    }

    private func song(_ name: String, _ codec: String, cover: String?) throws -> String {
        var words = TestClips.arguments("-f lavfi -i sine=sample_rate=44100:d=1")
        if let cover {
            words += ["-i", cover] + TestClips.arguments("-map 0 -map 1 -c:v copy -disposition:v attached_pic")
        }
        return try TestClips.make(name, words + TestClips.arguments(codec + " " + Self.tags))
    }

    private func decoded(_ film: any MediaSource) throws -> PixelSize? {
        let track = try #require(film.summary.tracks.first { $0.isCoverArt })
        let decoder = try VideoDecoder(format: try #require(track.videoFormat))
        let reader = try film.source(for: track)
        while let buffer = try reader.read() { try decoder.send(buffer) }
        decoder.finish()
        return decoder.receive()?.videoFrame?.size
    }

    @Test(arguments: [
        ("song.mp3", "-c:a libmp3lame -id3v2_version 3"), ("song.flac", "-c:a flac"), ("song.m4a", "-c:a aac"),
    ])
    func theCoverInsideARecordingIsATrackWithASizeAndTheTagsAreKnown(name: String, codec: String) throws {
        for picture in ["cover.jpg", "cover.png"] {
            let film = try MediaFile.open(try song(name, codec, cover: try cover(picture)))
            let track = try #require(film.summary.tracks.first { $0.kind == .video })
            #expect(track.isCoverArt && track.videoFormat?.size == PixelSize(width: 60, height: 40))
            #expect(try decoded(film) == PixelSize(width: 60, height: 40))
            #expect(film.summary.title == "Lied" && film.summary.artist == "Sänger" && film.summary.album == "Platte")
            #expect(film.summary.genre == "Polka" && film.summary.trackNumber == 3)
            #expect(film.warnings.isEmpty)
        }
    }

    @Test func tagsOfOggAreItsStreams() throws {
        let film = try MediaFile.open(try song("song.ogg", "-c:a libvorbis", cover: nil))
        #expect(film.summary.title == "Lied" && film.summary.artist == "Sänger" && film.summary.album == "Platte")
        #expect(film.summary.genre == "Polka" && film.summary.trackNumber == 3)
    }

    @Test func anImageBesideARecordingIsItsCover() throws {
        let jpeg = try TestClips.bytes(of: try cover())
        let name = "My Song.flac"
        try folder.write(try TestClips.bytes(of: try song("song.flac", "-c:a flac", cover: nil)), to: name)
        for other in ["folder.jpg", "Cover.PNG", "my song (back).jpg", "holiday.jpg", "my song.txt"] {
            try folder.write(jpeg, to: other)
        }
        func found(_ search: CoverSearch) -> [String] {
            CoverArt.find(beside: folder.path(name), search).map { String($0.split(separator: "/").last ?? "") }
        }
        #expect(found(.no).isEmpty)
        #expect(found(.exact) == ["Cover.PNG", "folder.jpg"])
        #expect(found(.fuzzy) == ["Cover.PNG", "folder.jpg", "my song (back).jpg"])
        #expect(found(.all) == ["Cover.PNG", "folder.jpg", "my song (back).jpg", "holiday.jpg"])
        try folder.write(jpeg, to: "My song.jpeg")
        #expect(found(.exact).first == "My song.jpeg")
        let film = RecordingWithCovers.recording(
            try MediaFile.open(folder.path(name)), at: folder.path(name), .exact)
        let tracks = film.summary.tracks.filter { $0.kind == .video }
        #expect(tracks.count == 1 && tracks[0].isExternal && tracks[0].isCoverArt && tracks[0].number == 1)
        #expect(try decoded(film) == PixelSize(width: 60, height: 40))
        let sound = try #require(film.summary.track(.audio))
        #expect(try film.source(for: sound).read() != nil)
    }

    @Test func aFilmHasNoCover() throws {
        let clip = try TestClips.make("film.mkv", TestClips.arguments("-f lavfi -i testsrc=d=1 -f lavfi -i sine=d=1"))
        let film = try MediaFile.open(clip)
        #expect(RecordingWithCovers.recording(film, at: clip, .all, named: [try cover()]) === film)
    }

    /// Opens a song whose cover image was modified.
    private func spoiled(_ name: String, _ change: (inout [UInt8], Int) -> Void) throws -> MediaFile {
        let png = try cover("cover.png")
        var bytes = try TestClips.bytes(of: try song("song.flac", "-c:a flac", cover: png))
        let start = try #require(
            bytes.indices.first { bytes[$0...].starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A]) })
        change(&bytes, start)
        return try MediaFile.open(try folder.write(bytes, to: name))
    }

    @Test func anOversizedCoverIsOmittedWithOneSentenceAndAudioPlays() throws {
        let film = try spoiled("huge.flac") { bytes, start in
            bytes.replaceSubrange(start + 16..<start + 24, with: [0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30])
        }
        #expect(film.summary.tracks.map(\.kind) == [.audio])
        let all = RecordingWithCovers(film, named: [], found: [])
        #expect(all.warnings.count == 1 && all.warnings[0].contains("30000x30000"))
        #expect(try film.source(for: film.summary.tracks[0]).read() != nil)
    }

    @Test func anInvalidCoverIsOmittedWithOneSentence() throws {
        let film = try spoiled("broken.flac") { bytes, start in
            for index in start..<start + 40 { bytes[index] = 7 }
        }
        #expect(film.summary.tracks.map(\.kind) == [.audio])
        #expect(film.coverWarnings.count == 1)
        let broken = try folder.write([1, 2, 3], to: "cover.jpg")
        let beside = RecordingWithCovers(film, named: [], found: [broken, try cover()])
        #expect(beside.warnings.count == 2 && beside.summary.tracks.count == 2)
    }
}
