import Glibc
import MediaCodecs
import MediaCore
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

    private func decode(_ path: String) throws -> [Float] {
        let film = Player.Parts.film(audioOutput: nil)
        let media = try film.open(path, OpenCancellation())
        let format = PCMFormat(sampleRate: 48000, layout: .stereo)
        let decoder = try ItemDecoder(media, codecs: FilmAudioCodecs(), format: format, from: 0)
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
}
