import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

@Suite struct SpeedTests {
    private func reader() throws -> any SampleSource {
        let clip = try TestClips.flashAndBeep("speed.wav", "-c:a pcm_s16le -vn", seconds: 20)
        let film = try MediaFile.open(clip)
        return try film.reader(for: try #require(film.summary.track(.audio)))
    }

    @Test(arguments: [0.25, 0.4, 0.5, 0.8, 1.25, 1.5, 2, 3, 4])
    func atAnySpeedEveryBeepIsAtItsFilmTime(_ speed: Double) throws {
        let sound = try FilmAudio.decode(try reader(), speed: speed)
        #expect(sound.jumps.isEmpty)
        // Half a window in output time.
        let pace = max(1, speed / 2)
        #expect(abs(Double(sound.samples.count) / 48000 * speed - 20) < 0.05 * pace)
        // Beeps are detected in output seconds, each of which is `speed` seconds of film.
        let moments = sound.beeps.map { $0 * speed }
        try #require(moments.count == 20)
        let errors = moments.enumerated().map { $1 - Double($0) - 0.05 }
        // The filter displaces single beeps within its window, without drift.
        for error in errors { #expect(abs(error) < 0.04 * pace) }
        #expect(abs(errors.reduce(0, +) / 20) < 0.012 * max(1, speed))
    }

    @Test func pitchStays() throws {
        let sound = try FilmAudio.decode(try reader(), speed: 1.5)
        let beep = sound.samples[Int(48000 / 1.5) + 800..<Int(48000 / 1.5) + 2400]
        let crossings = zip(beep, beep.dropFirst()).filter { $0 <= 0 && $1 > 0 }.count
        #expect(abs(Double(crossings) * 30 - 1000) < 40)
    }

    @Test func aSeekRestartsTheStretcher() throws {
        let reader = try reader()
        let format = PCMFormat(sampleRate: 48000, layout: .stereo)
        let converter = try FilmAudioCodecs().converter(
            from: try #require(reader.track.audioFormat), to: format, speed: 1.5)
        let block = PCMBlock(format: format, capacity: 1024)
        for second in [12, 3] {
            let target = MediaTime(value: Int64(second), timescale: 1)
            try reader.seek(to: target, mode: .exact)
            converter.reset()
            var first: MediaTime?
            while first == nil, let buffer = try reader.read() {
                try converter.send(buffer)
                if try converter.receive(into: block) { first = block.start }
            }
            #expect(abs(try #require(first).seconds - Double(second)) < 0.1)
        }
    }

    @Test(arguments: [0.0, 0.2, 4.1, .nan, .infinity, -1]) func impossibleSpeedsAreRefused(_ speed: Double) throws {
        let format = try #require(try reader().track.audioFormat)
        #expect(throws: MediaError.self) {
            try FilmAudioCodecs().converter(
                from: format, to: PCMFormat(sampleRate: 48000, layout: .stereo), speed: speed)
        }
    }
}
