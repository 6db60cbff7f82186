import Foundation
import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

/// A container with codecs, and the accuracy of its audio timestamps.
struct Coding: Sendable, CustomTestStringConvertible {
    var file: String
    var arguments: String
    var before = ""
    /// Frames per second.
    var rate = "25"
    /// Maximum deviation of a beep's centre, in seconds.
    var tolerance = 0.001
    /// Seconds by which the audio of the clip itself is late, because its container cannot signal the encoder delay.
    /// The result of `ffmpeg -copyts` for the same clips agrees.
    var late = 0.0
    var testDescription: String { "\(file) \(arguments)" }

    func clip() throws -> String { try TestClips.flashAndBeep(file, arguments, before: before, rate: rate) }
}

@Suite struct ContainerTests {
    /// FFmpeg 5.1 writes Matroska's Opus without its pre-skip of 312 frames of 48 kHz.
    static let lateOpus = TestClips.majorVersion < 6 ? -312.0 / 48000 : 0

    static let films = [
        Coding(file: "a.mp4", arguments: "-c:v libx264 -g 25 -c:a aac"),
        Coding(file: "b.mp4", arguments: "-c:v libx264 -bf 3 -c:a aac", rate: "24000/1001"),
        Coding(file: "a.mov", arguments: "-c:v prores_ks -pix_fmt yuv422p10le -c:a pcm_s16le"),
        Coding(file: "alac.mov", arguments: "-c:v libx264 -c:a alac"),
        Coding(file: "a.mkv", arguments: "-c:v libx265 -x265-params log-level=error -c:a libopus", late: lateOpus),
        Coding(file: "ten.mkv", arguments: "-c:v libx265 -x265-params log-level=error -pix_fmt yuv420p10le -c:a flac"),
        Coding(file: "ac3.mkv", arguments: "-c:v libx264 -c:a ac3"),
        Coding(file: "eac3.mkv", arguments: "-c:v libx264 -pix_fmt yuv422p10le -c:a eac3", rate: "24000/1001"),
        Coding(file: "mp3.mkv", arguments: "-c:v libx264 -c:a libmp3lame"),
        Coding(file: "dts.mkv", arguments: "-c:v mpeg4 -c:a dca -strict -2 -ac 2", late: 512.0 / 48000),
        Coding(file: "vp8.webm", arguments: "-c:v libvpx -deadline realtime -c:a libvorbis"),
        Coding(
            file: "vp9.webm", arguments: "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus", late: lateOpus),
        Coding(
            file: "vp9ten.webm",
            arguments: "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p10le -c:a libopus",
            late: lateOpus
        ),
        Coding(file: "av1.mp4", arguments: "-c:v libsvtav1 -preset 12 -c:a aac"),
        Coding(
            // Of 10 bits SVT-AV1 4 mixes the flash into the frame before it with the faster presets.
            file: "av1ten.mkv",
            arguments: "-c:v libsvtav1 -preset 10 -pix_fmt yuv420p10le -c:a libopus",
            late: lateOpus
        ),
        Coding(file: "h264.ts", arguments: "-c:v libx264 -c:a aac"),
        Coding(file: "mpeg2.ts", arguments: "-c:v mpeg2video -q:v 3 -c:a mp2"),
        Coding(file: "hevc.ts", arguments: "-c:v libx265 -x265-params log-level=error -c:a ac3"),
        Coding(file: "mpeg2.mpg", arguments: "-c:v mpeg2video -q:v 3 -c:a mp2"),
        Coding(file: "xvid.avi", arguments: "-c:v mpeg4 -c:a libmp3lame", late: 1105.0 / 48000 - 0.04),
        Coding(file: "pcm.avi", arguments: "-c:v mpeg4 -bf 2 -c:a pcm_s16le", late: -0.04),
        // libtheora 1.2 (Debian 13) shifts frames that follow unchanged ones by one or two; noise changes each.
        Coding(file: "theora.ogv", arguments: "-vf noise=alls=20:allf=t -c:v libtheora -c:a libvorbis"),
        Coding(file: "a.flv", arguments: "-c:v libx264 -c:a aac"),
        Coding(file: "a.wmv", arguments: "-c:v wmv2 -c:a wmav2", tolerance: 0.003),
        Coding(file: "fragmented.mp4", arguments: "-c:v libx264 -c:a aac -movflags frag_keyframe+empty_moov"),
    ]

    @Test(arguments: ["chapters.mkv", "chapters.mp4"]) func chaptersAreThoseThatTheFilmNames(_ name: String) throws {
        let folder = TemporaryFolder()
        let names = try folder.write(
            Array(
                """
                ;FFMETADATA1
                [CHAPTER]
                TIMEBASE=1/1000
                START=0
                END=1500
                title=Klein
                [CHAPTER]
                TIMEBASE=1/1000
                START=1500
                END=4000
                title=Größer
                """.utf8), to: "names.txt")
        let clip = try TestClips.make(
            name,
            [
                "-f", "lavfi", "-i", "testsrc2=s=64x64:r=25:d=4", "-f", "ffmetadata", "-i", names, "-map", "0",
                "-map_chapters", "1",
                "-c:v", "mpeg4",
            ])
        let chapters = try MediaFile.open(clip).summary.chapters
        #expect(chapters.map { $0.start.seconds } == [0, 1.5])
        #expect(chapters.map(\.title) == ["Klein", "Größer"])
    }

    @Test(arguments: films) func flashAndBeepMeet(_ coding: Coding) throws {
        let film = try MediaFile.open(try coding.clip())
        #expect(film.warnings.isEmpty)
        let video = try #require(film.summary.track(.video))
        let audio = try #require(film.summary.track(.audio))
        let duration = try #require(film.summary.duration)
        #expect(abs(duration.seconds - 4) < 0.15)

        let pictures = try FilmFrames.decode(try film.reader(for: video))
        let sound = try FilmAudio.decode(try film.reader(for: audio))
        #expect(pictures.decodeErrorCount == 0)
        #expect(sound.decodeErrorCount == 0)
        #expect(sound.jumps.isEmpty)
        let flashes = pictures.flashes
        let beeps = sound.beeps
        try #require(flashes.count == 4)
        try #require(beeps.count == 4)
        // Excludes the first beep, whose centre is displaced because the start of the film cuts it.
        for index in 1..<4 {
            let offset = beeps[index] - flashes[index].seconds - 0.05 - coding.late
            #expect(abs(offset) < coding.tolerance + frameSnap(coding, at: index))
        }
    }

    /// Files of both writers of Opus in Matroska, read by whatever version is installed.
    @Test(arguments: [("ffmpeg-5.1", -312), ("ffmpeg-7.1", 0)])
    func opusOfEachWriterIsWhereItsFileSays(_ writer: String, lateFrames: Int) throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Fixtures/opus-in-matroska/\(writer).mkv").path
        let film = try MediaFile.open(path)
        let pictures = try FilmFrames.decode(try film.reader(for: try #require(film.summary.track(.video))))
        let sound = try FilmAudio.decode(try film.reader(for: try #require(film.summary.track(.audio))))
        try #require(pictures.flashes.count == 4 && sound.beeps.count == 4)
        for index in 1..<4 {
            let offset = sound.beeps[index] - pictures.flashes[index].seconds - 0.05
            #expect(abs(offset - Double(lateFrames) / 48000) < 0.001)
        }
    }

    /// A flash starts with the first frame within its 0.1 s, which is not always at the whole second.
    private func frameSnap(_ coding: Coding, at second: Int) -> Double {
        coding.rate == "25" ? 0 : 0.042
    }

    // This AVI starts with an empty frame.
    @Test(arguments: films.filter { $0.file != "xvid.avi" })
    func picturesFollowEachOtherWithoutHoles(_ coding: Coding) throws {
        let film = try MediaFile.open(try coding.clip())
        let video = try #require(film.summary.track(.video))
        let pictures = try FilmFrames.decode(try film.reader(for: video)).frames
        #expect(pictures.count >= 95 && pictures.count <= 101)
        for (earlier, later) in zip(pictures, pictures.dropFirst()) {
            // Matroska's timestamps are in milliseconds.
            #expect(abs((later.start - earlier.start - earlier.duration).seconds) < 0.0015)
        }
    }

    @Test(arguments: films.filter { $0.rate == "25" })
    func anExactSeekFindsTheSamePlaceInPictureAndSound(_ coding: Coding) throws {
        let film = try MediaFile.open(try coding.clip())
        let video = try #require(film.summary.track(.video))
        let audio = try #require(film.summary.track(.audio))
        let whole = try FilmFrames.decode(try film.reader(for: video)).flashes
        try #require(whole.count == 4)
        let target = whole[2] - MediaTime(value: 1, timescale: 10)

        let pictures = try film.reader(for: video)
        try pictures.seek(to: target, mode: .exact)
        let seen = try FilmFrames.decode(pictures, showingFrom: target)
        let first = try #require(seen.frames.first)
        #expect(first.start <= target + MediaTime(value: 1, timescale: 1000))
        #expect(first.start + first.duration > target)
        #expect(seen.flashes.count == 2)
        #expect(abs((seen.flashes[0] - whole[2]).seconds) < 0.001)

        let sound = try film.reader(for: audio)
        try sound.seek(to: target, mode: .exact)
        let heard = try FilmAudio.decode(sound)
        #expect(heard.start <= target + MediaTime(value: 1, timescale: 1000))
        #expect(heard.start > target - MediaTime(value: 3, timescale: 10))
        try #require(heard.beeps.count == 2)
        #expect(abs(heard.beeps[0] - whole[2].seconds - 0.05 - coding.late) < coding.tolerance)
    }

    static let recordings = [
        Coding(file: "a.flac", arguments: "-c:a flac -vn"), Coding(file: "a.mp3", arguments: "-c:a libmp3lame -vn"),
        Coding(file: "a.wav", arguments: "-c:a pcm_s24le -vn"), Coding(file: "a.ogg", arguments: "-c:a libvorbis -vn"),
        Coding(file: "a.opus", arguments: "-c:a libopus -vn"), Coding(file: "a.m4a", arguments: "-c:a alac -vn"),
        Coding(file: "aac.m4a", arguments: "-c:a aac -vn"), Coding(file: "float.wav", arguments: "-c:a pcm_f32le -vn"),
        Coding(file: "a.aiff", arguments: "-c:a pcm_s16be -vn"),
        Coding(file: "a.mka", arguments: "-c:a truehd -strict -2 -ac 2 -vn"),
        Coding(file: "a.wv", arguments: "-c:a wavpack -vn"), Coding(file: "a.tta", arguments: "-c:a tta -vn"),
        Coding(file: "flac.ogg", arguments: "-c:a flac -vn"),
    ]

    /// Encoder delay and padding are removed if the container states them: the recording has its original length.
    @Test(arguments: recordings) func aRecordingComesBackAsLongAsItWas(_ coding: Coding) throws {
        let film = try MediaFile.open(try coding.clip())
        #expect(film.summary.track(.video) == nil)
        let audio = try #require(film.summary.track(.audio))
        #expect(audio.start == nil || abs(audio.start!.seconds) < 0.001)
        let sound = try FilmAudio.decode(try film.reader(for: audio))
        #expect(abs(sound.start.seconds) < 0.001)
        #expect(abs(sound.samples.count - 4 * 48000) <= 48)
        try #require(sound.beeps.count == 4)
        for second in 0..<4 { #expect(abs(sound.beeps[second] - Double(second) - 0.05) < 0.001) }
    }

    @Test(arguments: recordings) func aRecordingCanBeSoughtToTheSample(_ coding: Coding) throws {
        let film = try MediaFile.open(try coding.clip())
        let audio = try #require(film.summary.track(.audio))
        let reader = try film.reader(for: audio)
        let target = MediaTime(value: 195, timescale: 100)
        try reader.seek(to: target, mode: .exact)
        let sound = try FilmAudio.decode(reader)
        #expect(sound.start <= target + MediaTime(value: 1, timescale: 1000))
        // WavPack and TTA have packets longer than a second.
        #expect(sound.start > target - MediaTime(value: 11, timescale: 10))
        let beeps = Array(sound.beeps.suffix(2))
        try #require(beeps.count == 2)
        for index in 0..<2 { #expect(abs(beeps[index] - Double(index) - 2.05) < 0.001) }
        #expect(abs(sound.end.seconds - 4) < 0.001)
    }
}
