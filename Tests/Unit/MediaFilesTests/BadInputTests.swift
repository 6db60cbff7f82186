import Foundation
import Glibc
import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

/// Invalid media: one sentence, the right error code, no trap and no endless wait.
@Suite struct BadInputTests {
    let folder = TemporaryFolder()

    private func failure(_ url: String, options: ReadOptions = ReadOptions()) -> MediaError? {
        do throws(MediaError) {
            _ = try MediaFile.open(url, options: options)
            return nil
        } catch { return error }
    }

    /// Reads both tracks to their ends, as a player does.
    private static func playThrough(_ path: String) throws -> (pictures: FilmFrames, sound: FilmAudio) {
        let film = try MediaFile.open(path)
        let pictures = try film.summary.track(.video).map { try FilmFrames.decode(try film.reader(for: $0)) }
        let sound = try film.summary.track(.audio).map { try FilmAudio.decode(try film.reader(for: $0)) }
        return (pictures ?? FilmFrames(), sound ?? FilmAudio())
    }

    @Test func aNameThatDoesNotExist() throws {
        let error = try #require(failure(folder.path("nothing.mp4")))
        #expect(error.code == .cannotOpen)
        #expect(error.message.contains("nothing.mp4"))
    }

    @Test func aFolder() throws {
        let error = try #require(failure(folder.path))
        #expect(error.code == .cannotOpen && error.message.contains("folder"))
    }

    @Test func anEmptyFile() throws {
        let path = try folder.write([], to: "empty.mp4")
        let error = try #require(failure(path))
        #expect(error.code == .notMedia && error.message.contains("empty"))
    }

    @Test(arguments: ["text.mp4", "text.mkv", "text.ts", "text.txt", "text.mp3", "text.nfo"])
    func textUnderAFilmsName(_ name: String) throws {
        let text = String(repeating: "It was a dark and stormy night; the rain fell in torrents. ", count: 300)
        let path = try folder.write(Array(text.utf8), to: name)
        #expect(try #require(failure(path)).code == .notMedia)
    }

    @Test(arguments: ["list.m3u", "List.M3U8", "list.pls", "list.xspf"])
    func aPlaylistIsNamedAsSuch(_ name: String) throws {
        let path = try folder.write(Array("film.mkv\nsong.flac\n".utf8), to: name)
        let error = try #require(failure(path))
        #expect(
            error.code == .notMedia
                && error.message.hasSuffix("is a playlist and no film; open its entries"))
    }

    @Test func aScriptThatNamesOtherFilesIsNoFilm() throws {
        let path = folder.path("self.mp4")
        try folder.write(Array("ffconcat version 1.0\nfile self.mp4\n".utf8), to: "self.mp4")
        #expect(try #require(failure(path)).code == .notMedia)
    }

    @Test func aNameWithAColonIsAFile() throws {
        let clip = try TestClips.bytes(of: try TestClips.flashAndBeep("a.mp4", "-c:v libx264 -g 25 -c:a aac"))
        let path = try folder.write(clip, to: "http: the film, part 2.mp4")
        #expect(failure(path) == nil)
    }

    @Test func aTrackOfAnotherFilmIsRefusedAndThisOneRemainsReadable() throws {
        let clip = try TestClips.bytes(of: try TestClips.flashAndBeep("a.mp4", "-c:v libx264 -g 25 -c:a aac"))
        let film = try MediaFile.open(try folder.write(clip, to: "film.mp4"))
        var foreign = try #require(film.summary.track(.audio))
        foreign.id = 77
        let error = #expect(throws: MediaError.self) { try film.reader(for: foreign) }
        #expect(error?.code == .unsupported)
        #expect(try film.reader(for: film.summary.tracks[0]).read() != nil)
    }

    @Test(arguments: ["concat:a.mp4|b.mp4", "subfile,,start,0,end,9,,:/etc/passwd", "gopher://host/film"])
    func addressesThatReachForOtherThings(_ url: String) throws {
        let error = try #require(failure(url))
        #expect(error.code == .cannotOpen || error.code == .unsupported)
    }

    // MARK: Damage

    static let whole = [
        "a.mp4", "a.mkv", "a.ts", "a.avi", "a.flv", "a.mpg", "a.ogv", "a.wmv", "a.flac", "a.wav", "a.mp3", "a.m4a",
        "a.ogg",
    ]

    private func clip(_ name: String) throws -> String {
        let codecs = [
            "avi": "-c:v mpeg4 -c:a libmp3lame", "mpg": "-c:v mpeg2video -q:v 3 -c:a mp2",
            "ogv": "-c:v libtheora -c:a libvorbis", "wmv": "-c:v wmv2 -c:a wmav2", "flac": "-c:a flac -vn",
            "wav": "-c:a pcm_s16le -vn", "mp3": "-c:a libmp3lame -vn", "m4a": "-c:a alac -vn -movflags +faststart",
            "ogg": "-c:a libvorbis -vn", "mp4": "-c:v libx264 -g 25 -c:a aac -movflags +faststart",
        ]
        let ending = String(name.split(separator: ".").last ?? "")
        return try TestClips.flashAndBeep(
            "whole-" + name, codecs[ending] ?? "-c:v libx264 -g 25 -c:a aac", seconds: 12)
    }

    @Test(arguments: whole) func aFilmCutOffInTheMiddlePlaysToTheCut(_ name: String) throws {
        let bytes = try TestClips.bytes(of: try clip(name))
        let path = try folder.write(Array(bytes.prefix(bytes.count * 6 / 10)), to: name)
        let seen = try Self.playThrough(path)
        let film = try MediaFile.open(path)
        // Most of such a short Ogg file is headers.
        if name.hasPrefix("a.og") { return }
        if film.summary.track(.video) != nil {
            #expect(seen.pictures.frames.count > 120 && seen.pictures.frames.count < 240)
        }
        #expect(seen.sound.end.seconds > 4 && seen.sound.end.seconds < 10)
    }

    @Test func aFilmWhoseIndexIsCutOffSaysSo() throws {
        let clip = try TestClips.flashAndBeep("index-last.mp4", "-c:v libx264 -c:a aac")
        let bytes = try TestClips.bytes(of: clip)
        let path = try folder.write(Array(bytes.prefix(bytes.count * 6 / 10)), to: "cut.mp4")
        let error = try #require(failure(path))
        #expect(error.code == .notMedia && error.message.contains("truncated"))
    }

    /// Size fields of the outer structures: MP4 atoms, RIFF and its lists, EBML's segment, FLAC's metadata.
    @Test(arguments: [
        ("a.mp4", 32), ("a.mp4", 36), ("a.avi", 4), ("a.avi", 16), ("a.wav", 4), ("a.wav", 40), ("a.mkv", 40),
        ("a.mkv", 48), ("a.flac", 4), ("a.flac", 6), ("a.m4a", 28),
    ]) func aHeaderWithAWrongSize(_ name: String, _ offset: Int) throws {
        let bytes = try TestClips.bytes(of: try clip(name))
        for value: [UInt8] in [[255, 255, 255, 255], [127, 255, 255, 255], [0, 0, 0, 0], [0, 0, 0, 7]] {
            var lying = bytes
            lying.replaceSubrange(offset..<offset + 4, with: value)
            let path = try folder.write(lying, to: name)
            do {
                let seen = try Self.playThrough(path)
                #expect(seen.sound.end.seconds < 60)
            } catch let error as MediaError {
                #expect(!error.message.isEmpty)
            }
        }
    }

    /// FLV has no resynchronization points; in AVI and bare MP3 files time is the sum of what was read.
    @Test(arguments: whole.filter { !["a.flv", "a.avi", "a.mp3", "a.ogv"].contains($0) })
    func aFilmContinuesAfterAHole(_ name: String) throws {
        var bytes = try TestClips.bytes(of: try clip(name))
        // A twentieth of the film, in the middle, is noise.
        var state: UInt32 = 99
        for index in bytes.count * 50 / 100..<bytes.count * 55 / 100 {
            state = state &* 1_664_525 &+ 1_013_904_223
            bytes[index] = UInt8(truncatingIfNeeded: state >> 24)
        }
        let path = try folder.write(bytes, to: name)
        let film = try MediaFile.open(path)
        if let track = film.summary.track(.video) {
            let seen = try FilmFrames.decode(try film.reader(for: track))
            #expect(seen.frames.count > 150)
            let last = try #require(seen.flashes.last).seconds
            #expect(last > 10 && abs(last - last.rounded()) < 0.1)
        }
        let sound = try FilmAudio.decode(try film.reader(for: try #require(film.summary.track(.audio))))
        #expect(sound.end.seconds > 11 && sound.end.seconds < 12.3)
        let last = try #require(sound.beeps.last)
        #expect(abs(last - last.rounded(.down) - 0.05) < 0.06)
    }

    /// Creates an uncompressed AVI in which only the header states the frame size.
    private func avi(width: UInt32, height: UInt32, sound: Bool) throws -> String {
        let codecs = "-c:v rawvideo -pix_fmt yuv420p " + (sound ? "-c:a pcm_s16le" : "-an")
        var bytes = try TestClips.bytes(of: try TestClips.flashAndBeep("raw.avi", codecs, seconds: 1, size: "32x32"))
        // BITMAPINFOHEADER follows the four letters "strf" and a size: its own size, width, height.
        let start = try #require((0..<4096).first { bytes[$0..<$0 + 4].elementsEqual("strf".utf8) }) + 12
        for (index, value) in [width, height].enumerated() {
            withUnsafeBytes(of: value.littleEndian) {
                bytes.replaceSubrange(start + index * 4..<start + index * 4 + 4, with: $0)
            }
        }
        return try folder.write(bytes, to: "size-\(width)x\(height)-\(sound).avi")
    }

    @Test func aPictureWithoutSize() throws {
        let error = try #require(failure(try avi(width: 0, height: 0, sound: false)))
        #expect(error.message.contains("picture size"))
        let film = try MediaFile.open(try avi(width: 0, height: 0, sound: true))
        #expect(film.summary.track(.video) == nil)
        #expect(film.summary.track(.audio) != nil)
        #expect(film.warnings.count == 1)
    }

    @Test(arguments: [(30000, 30000), (20000, 64), (64, 17000), (0x7FFF_FFFF, 0x7FFF_FFFF)])
    func aPictureLargerThanAnythingSensible(_ width: UInt32, _ height: UInt32) throws {
        let error = try #require(failure(try avi(width: width, height: height, sound: false)))
        #expect(error.code == .limitExceeded && error.message.contains("\(width)x\(height)"))
        let film = try MediaFile.open(try avi(width: width, height: height, sound: true))
        #expect(film.summary.track(.video) == nil && film.warnings.count == 1)
    }

    /// Audio that ends after one second while video continues, and the reverse.
    @Test func aTrackThatDiesLeavesTheOther() throws {
        for (file, picture, sound) in [("a.mkv", 4, 1), ("a.mp4", 1, 4), ("a.ts", 4, 1), ("b.ts", 1, 4)] {
            let clip = try TestClips.make(
                "dies-" + file,
                ["-f", "lavfi", "-i", "testsrc=s=64x64:r=25:d=\(picture)", "-f", "lavfi", "-i", "sine=d=\(sound)"]
                    + TestClips.arguments("-c:v libx264 -g 25 -c:a aac"))
            let film = try MediaFile.open(clip)
            let seen = try Self.playThrough(clip)
            #expect(abs(Double(seen.pictures.frames.count) / 25 - Double(picture)) < 0.1)
            #expect(abs(seen.sound.end.seconds - Double(sound)) < 0.15)
            // A seek beyond the end of a track ends that track only.
            let dead = try #require(film.summary.track(picture < sound ? .video : .audio))
            let reader = try film.reader(for: dead)
            try reader.seek(to: MediaTime(value: 3, timescale: 1), mode: .exact)
            var left = 0
            while try reader.read() != nil { left += 1 }
            #expect(left < 60)
        }
    }

    /// libavformat finds no sync sample in overwritten media: it judges by its contents.
    @Test func aSeekInAFilmWithoutSyncSamplesFindsWhatIsThere() throws {
        let path = try TestClips.make(
            "overwritten.mp4",
            ["-f", "lavfi", "-i", "testsrc=s=64x64:r=25:d=4"]
                + TestClips.arguments("-c:v libx264 -g 25 -movflags +faststart"))
        var bytes = try TestClips.bytes(of: path)
        let media = try #require(bytes.firstRange(of: Array("mdat".utf8))).upperBound
        bytes.replaceSubrange(media..., with: [UInt8](repeating: 0, count: bytes.count - media))
        let film = try MediaFile.open(try folder.write(bytes, to: "overwritten.mp4"))
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        for seconds in [0, 2] as [Int64] {
            try reader.seek(to: MediaTime(value: seconds, timescale: 1), mode: .exact)
            var count = 0
            while try reader.read() != nil { count += 1 }
            #expect(count == 100)
        }
    }

    @Test func openingDamagedFilmsLeavesNothingOpen() throws {
        let bytes = try TestClips.bytes(of: try clip("a.mp4"))
        let path = try folder.write(Array(bytes.prefix(500)), to: "cut.mp4")
        for _ in 0..<50 { #expect(failure(path) != nil) }
        #expect(openDescriptors { $0 == path } == 0)
    }

    /// Found by fuzzing: an index of 6 kB whose entries make libavformat's tables grow to 2.9 GB. A process of its own:
    /// other tests use memory.
    @Test func aFileThatAsksForGigabytesIsBounded() async {
        let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Fixtures")
        let path = fixtures.appending(path: "Fuzz/Demux/grows-without-bound").standardizedFileURL.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            let before = Self.peakMemory()
            _ = try? Self.playThrough(path)
            #expect(Self.peakMemory() - before < 1 << 30)
        }
    }

    /// Returns the peak resident memory of the process in bytes.
    private static func peakMemory() -> Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_maxrss << 10
    }
}
