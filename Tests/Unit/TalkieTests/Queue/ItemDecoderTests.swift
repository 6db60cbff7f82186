import Glibc
import MediaCodecs
import MediaCore
import SyncRendering
import Testing

@testable import Talkie
@testable import TalkieTestKit

/// Real files through the real decoders: what a joint is made of.
@Suite struct ItemDecoderTests {
    /// Two seconds of a tone that is a whole number of turns long, so that a joint of two of them is one tone.
    private static func tone(_ name: String, _ codec: String, rate: Int) throws -> String {
        try TestClips.make(
            name,
            ["-f", "lavfi", "-i", "aevalsrc='0.5*sin(2*PI*441*t)':s=\(rate):d=2,aformat=channel_layouts=stereo"]
                + TestClips.words(codec))
    }

    /// The container's name decides; each is said to be exact by its makers when its encoder wrote what to trim.
    static let files = [
        ("a.m4a", "-c:a aac -b:a 192k", 44100), ("b.mp3", "-c:a libmp3lame -b:a 192k", 48000),
        ("c.m4a", "-c:a alac", 48000), ("d.flac", "-c:a flac", 44100), ("e.opus", "-c:a libopus -b:a 128k", 48000),
        ("f.wav", "-c:a pcm_s16le", 44100), ("g.mp3", "-c:a libmp3lame -b:a 128k", 44100),
        ("h.ogg", "-c:a libvorbis -q:a 6", 44100),
    ]

    private func decode(_ path: String, showsPictures: Bool = false) throws -> [Float] {
        let film = Player.Parts.film(audioOutput: nil)
        let media = try film.open(path, OpenCancellation())
        let format = PCMFormat(sampleRate: 48000, layout: .stereo)
        let decoder = try ItemDecoder(
            media, codecs: FilmAudioCodecs(), format: format, from: 0, showsPictures: showsPictures)
        var samples: [Float] = []
        while true {
            let block = PCMBlock(format: format, capacity: 48000)
            guard try decoder.fill(block) else { return samples }
            for index in 0..<block.frames { samples.append(block.samples[index * 2]) }
        }
    }

    /// By how many samples a tone lies later than it should, by its phase in the middle of the file.
    private func shift(_ samples: [Float]) -> Double {
        var (sine, cosine) = (0.0, 0.0)
        for index in 24_000..<72_000 {
            let angle = 2 * Double.pi * 441 * Double(index) / 48000
            sine += Double(samples[index]) * sin(angle)
            cosine += Double(samples[index]) * cos(angle)
        }
        return -atan2(cosine, sine) / (2 * .pi * 441) * 48000
    }

    @Test(arguments: Array(files.indices)) func anItemIsAsLongAsItsSoundAndLiesWhereItShould(index: Int) throws {
        let (name, codec, rate) = Self.files[index]
        let samples = try decode(Self.tone(name, codec, rate: rate))
        let shift = shift(samples)
        print("item \(name) \(rate): \(samples.count - 96_000) frames too many, \(shift) frames late")
        #expect(samples.count == 96_000)
        // Opus turns the phase a little.
        #expect(abs(shift) < 0.2)
    }

    @Test func whatHoldsNoSoundAndWhatIsNotThereIsSaid() throws {
        #expect(throws: MediaError.self) { try decode("/nowhere/at/all.mp3") }
        let picture = try TestClips.make(
            "silent.mp4", TestClips.words("-f lavfi -i color=c=black:s=64x64:r=25:d=1 -c:v mpeg4"))
        #expect(throws: MediaError.self) { try decode(picture) }
    }

    /// Containers that say how long their pictures last, and those that do not.
    @Test(arguments: ["mp4", "mov", "mkv", "webm", "ts", "avi", "mpg"])
    func anItemLastsUntilItsLastPictureEnds(ending: String) throws {
        let codecs: [String: String] = [
            "webm": "-c:v libvpx -c:a libopus", "mpg": "-c:v mpeg2video -c:a mp2", "avi": "-c:v mpeg4 -c:a libmp3lame",
        ]
        let film = try TestClips.make(
            "longer.\(ending)",
            TestClips.words(
                "-f lavfi -i testsrc=s=160x120:r=25:d=2 -f lavfi -i sine=r=48000:d=1.5 "
                    + (codecs[ending] ?? "-c:v libx264 -bf 2 -c:a aac")))
        let media = try Player.Parts.film(audioOutput: nil).open(film, OpenCancellation())
        let track = try #require(media.summary.track(.video))
        let format = try #require(track.videoFormat)
        let pictures = try ItemPictures(
            media.source(for: track), VideoDecoder(format: format), isStill: false, from: .zero)
        var (count, end) = (0, MediaTime.zero)
        while !pictures.hasEnded || !pictures.waiting.isEmpty {
            if let picture = pictures.waiting.first {
                if picture.picture !== BlankPicture.shared { count += 1 }
                end = max(end, picture.end ?? .zero)
                pictures.removeFirst()
            } else {
                pictures.step()
            }
        }
        let frames = try decode(film, showsPictures: true).count
        print("item \(ending): \(count) pictures to \(end), \(Int64(frames) - end.rescaled(to: 48000)) frames longer")
        #expect(count == 50)
        #expect(abs(Int64(frames) - end.rescaled(to: 48000)) <= 1)
        #expect(try decode(film).count < 48000 * 7 / 4)
    }

    @Test func aFilmWithoutSoundIsSilence() throws {
        let film = try TestClips.make(
            "silent.mp4", TestClips.words("-f lavfi -i color=c=black:s=64x64:r=25:d=1 -c:v mpeg4"))
        let samples = try decode(film, showsPictures: true)
        #expect(samples.count == 48000)
        #expect(samples.allSatisfy { $0 == 0 })
    }

    @Test func thePictureOfARecordIsShownAndDoesNotLengthenIt() throws {
        let cover = try TestClips.make(
            "cover.png", TestClips.words("-f lavfi -i color=c=red:s=64x64 -frames:v 1 -c:v png"))
        let song = try TestClips.make(
            "song.mp3",
            TestClips.words(
                "-f lavfi -i sine=r=48000:d=1 -i \(cover) -map 0 -map 1 -c:a libmp3lame -c:v copy "
                    + "-disposition:v attached_pic"))
        #expect(try decode(song, showsPictures: true).count == 48000)
        let media = try Player.Parts.film(audioOutput: nil).open(song, OpenCancellation())
        let track = try #require(OpenedItem(1, media, showsPictures: true).pictures)
        #expect(track.isCoverArt)
        let pictures = try ItemPictures(
            media.source(for: track), VideoDecoder(format: try #require(track.videoFormat)), isStill: true,
            from: .zero)
        for _ in 0..<100 where pictures.waiting.isEmpty { pictures.step() }
        #expect(pictures.waiting.first?.presentationTime == .zero)
        #expect(pictures.waiting.first?.picture?.size == PixelSize(width: 64, height: 64))
    }
}
