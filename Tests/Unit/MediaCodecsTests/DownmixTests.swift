import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

@Suite struct DownmixTests {
    /// Returns the level of the left output if only one of six channels has a signal, at half of full scale.
    private func left(when channel: Int, _ codec: String, file: String = "mix.mkv") throws -> Double {
        let channels = (0..<6).map { $0 == channel ? "0.5*sin(2*PI*440*t)" : "0" }.joined(separator: "|")
        let clip = try TestClips.make(
            file, ["-f", "lavfi", "-i", "aevalsrc='\(channels)':c=5.1:s=48000:d=1"] + TestClips.arguments(codec))
        let film = try MediaFile.open(clip)
        let sound = try FilmAudio.decode(try film.reader(for: try #require(film.summary.track(.audio))))
        let middle = sound.samples.dropFirst(12000).prefix(24000)
        return (middle.reduce(0.0) { $0 + Double($1 * $1) } / Double(middle.count)).squareRoot() * 2.0.squareRoot()
            / 0.5
    }

    /// The order of 5.1 in WAVEFORMATEXTENSIBLE: front left and right, centre, low frequency, back left and right.
    @Test func withoutWordFromTheFilmCentreAndSurroundAreThreeDecibelsDown() throws {
        let front = try left(when: 0, "-c:a flac")
        #expect(abs(front - 1 / (1 + 2 * 0.5.squareRoot())) < 0.005)
        #expect(abs(try left(when: 2, "-c:a flac") / front - 0.5.squareRoot()) < 0.01)
        #expect(abs(try left(when: 4, "-c:a flac") / front - 0.5.squareRoot()) < 0.01)
        #expect(try left(when: 1, "-c:a flac") < 0.001)
        #expect(try left(when: 3, "-c:a flac") < 0.001)
    }

    /// AC-3 states its downmix levels: centre −4.5 dB, surround −6 dB.
    @Test func theFilmsOwnLevelsAreUsed() throws {
        let codec = "-c:a ac3 -b:a 448k -center_mixlev 0.595 -surround_mixlev 0.5"
        let front = try left(when: 0, codec)
        #expect(abs(front - 1 / (1 + 0.595 + 0.5)) < 0.01)
        #expect(abs(try left(when: 2, codec) / front - 0.595) < 0.02)
        #expect(abs(try left(when: 4, codec) / front - 0.5) < 0.02)
        #expect(try left(when: 3, codec) < 0.01)
    }

    @Test func fullScaleInEveryChannelDoesNotClip() throws {
        let channels = [String](repeating: "sin(2*PI*440*t)", count: 6).joined(separator: "|")
        let clip = try TestClips.make(
            "full.flac", ["-f", "lavfi", "-i", "aevalsrc='\(channels)':c=5.1:s=48000:d=1", "-c:a", "flac"])
        let film = try MediaFile.open(clip)
        let sound = try FilmAudio.decode(try film.reader(for: try #require(film.summary.track(.audio))))
        let peak = sound.samples.map(abs).max() ?? 0
        #expect(peak > 0.9 && peak <= 1.0001)
    }

    @Test func surroundGoesThroughUnmixedWhereTheOutputHasIt() throws {
        let clip = try TestClips.make(
            "pass.flac",
            ["-f", "lavfi", "-i", "aevalsrc='0.5*sin(2*PI*440*t)|0|0|0|0|0':c=5.1:s=48000:d=1", "-c:a", "flac"])
        let film = try MediaFile.open(clip)
        let reader = try film.reader(for: try #require(film.summary.track(.audio)))
        // Back and side channels of 5.1 are mapped to each other.
        let sound = try FilmAudio.decode(reader, layout: .surround51)
        #expect(abs((sound.samples.map(abs).max() ?? 0) - 0.5) < 0.01)
    }

    @Test(arguments: [8000, 22050, 44100, 96000])
    func everyRateIsBroughtToTheOutputsAndKeepsItsTime(_ rate: Int) throws {
        let clip = try TestClips.flashAndBeep("rate\(rate).wav", "-c:a pcm_s16le -vn", sampleRate: rate)
        let film = try MediaFile.open(clip)
        for output in [44100, 48000] {
            let reader = try film.reader(for: try #require(film.summary.track(.audio)))
            let sound = try FilmAudio.decode(reader, sampleRate: output)
            #expect(abs(sound.samples.count - 4 * output) <= 2)
            try #require(sound.beeps.count == 4)
            for second in 0..<4 { #expect(abs(sound.beeps[second] - Double(second) - 0.05) < 0.0003) }
        }
    }
}
