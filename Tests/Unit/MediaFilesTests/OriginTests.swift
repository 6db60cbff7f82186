import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

/// Audio and video are read independently; with these films two readers could disagree about the origin of time.
@Suite struct OriginTests {
    /// Returns beep minus flash for the given seconds of the film.
    private func offsets(_ path: String, seconds: Range<Int>) throws -> [Double] {
        let film = try MediaFile.open(path)
        let pictures = try FilmFrames.decode(try film.reader(for: try #require(film.summary.track(.video))))
        let sound = try FilmAudio.decode(try film.reader(for: try #require(film.summary.track(.audio))))
        return try seconds.map { second in
            let flash = try #require(pictures.flashes.first { abs($0.seconds - Double(second)) < 0.3 })
            let beep = try #require(sound.beeps.first { abs($0 - Double(second)) < 0.35 })
            return beep - 0.05 - flash.seconds
        }
    }

    static let wrapped = [
        "-c:v libx264 -c:a aac", "-c:v mpeg2video -q:v 3 -c:a mp2", "-c:v libx264 -c:a ac3",
    ]

    /// 33 bits of 90 kHz wrap after 95443.7 s (ISO 13818-1, 2.4.3.7): this film starts five seconds before.
    @Test(arguments: wrapped) func aTransportStreamWhoseStampsWrapPlaysOn(_ codecs: String) throws {
        let clip = try TestClips.flashAndBeep("wrap.ts", "\(codecs) -output_ts_offset 95438.7", seconds: 10)
        for offset in try offsets(clip, seconds: 1..<10) { #expect(abs(offset) < 0.001) }
    }

    /// Within a minute of the wrap libavformat decides by the first packet alone whether the first timestamps are
    /// negative.
    @Test(arguments: [59.99, 60.0, 60.02, 60.05]) func readersAgreeAtTheEdgeOfLibavformatsGuess(_ before: Double) throws
    {
        let start = 95443.7176888 - before
        let clip = try TestClips.flashAndBeep("edge.ts", "-c:v libx264 -c:a aac -output_ts_offset \(start)")
        for offset in try offsets(clip, seconds: 1..<4) { #expect(abs(offset) < 0.001) }
    }

    @Test(arguments: [2.0, 4.6, 5.0, 7.5])
    func aJumpIntoAWrappedStreamLandsBeforeAnyOtherReading(_ seconds: Double) throws {
        let clip = try TestClips.flashAndBeep(
            "wrap.ts", "-c:v libx264 -c:a aac -g 25 -output_ts_offset 95438.7", seconds: 10)
        let film = try MediaFile.open(clip)
        let target = MediaTime(seconds: seconds)
        let pictures = try film.reader(for: try #require(film.summary.track(.video)))
        let sound = try film.reader(for: try #require(film.summary.track(.audio)))
        let found = try #require(try sound.seek(to: target, mode: .exact))
        #expect(found <= target && (target - found).seconds < 2)
        try pictures.seek(to: target, mode: .exact)
        let seen = try FilmFrames.decode(pictures, showingFrom: target)
        let heard = try FilmAudio.decode(sound)
        let first = try #require(seen.frames.first)
        #expect(first.start <= target + MediaTime(value: 1, timescale: 1000) && first.start + first.duration > target)
        let flash = try #require(seen.flashes.last)
        let beep = try #require(heard.beeps.last)
        #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        #expect(abs(flash.seconds - 9) < 0.1)
    }

    static let offsetTracks = [
        ("a.mp4", "-c:v libx264 -c:a aac"), ("a.mkv", "-c:v libx264 -c:a flac"), ("a.ts", "-c:v libx264 -c:a aac"),
        ("a.mov", "-c:v libx264 -c:a pcm_s16le"), ("a.mpg", "-c:v mpeg2video -q:v 3 -c:a mp2"),
    ]

    /// The audio track starts 1.2 s after the video track.
    @Test(arguments: offsetTracks) func soundThatBeginsLaterIsHeardLater(_ file: String, _ codecs: String) throws {
        let clip = try TestClips.flashAndBeep("late-" + file, codecs, before: "-itsoffset 1.2")
        let film = try MediaFile.open(clip)
        let audio = try #require(film.summary.track(.audio))
        let video = try #require(film.summary.track(.video))
        #expect(abs(try #require(video.start).seconds) < 0.001)
        #expect(abs(try #require(audio.start).seconds - 1.2) < 0.05)
        let pictures = try FilmFrames.decode(try film.reader(for: video))
        let sound = try FilmAudio.decode(try film.reader(for: audio))
        #expect(abs(try #require(pictures.flashes.last).seconds - 3) < 0.001)
        #expect(abs(try #require(sound.beeps.last) - 0.05 - 4.2) < 0.0015)
        #expect(abs(sound.start.seconds - 1.2) < 0.05)
    }

    /// The video track starts 0.8 s after the audio track: film time 0 is the first audio sample.
    @Test(arguments: offsetTracks) func pictureThatBeginsLaterIsSeenLater(_ file: String, _ codecs: String) throws {
        let clip = try TestClips.flashAndBeep("early-" + file, codecs, before: "-itsoffset -0.8")
        let film = try MediaFile.open(clip)
        let video = try #require(film.summary.track(.video))
        let audio = try #require(film.summary.track(.audio))
        let pictures = try FilmFrames.decode(try film.reader(for: video))
        let sound = try FilmAudio.decode(try film.reader(for: audio))
        let flash = try #require(pictures.flashes.last).seconds
        let beep = try #require(sound.beeps.last) - 0.05
        #expect(abs(flash - beep - 0.8) < 0.0015)
        #expect(sound.start >= .zero - MediaTime(value: 1, timescale: 1000))
    }

    @Test func aFilmThatBeginsAtTenMinutesBeginsAtZeroForUs() throws {
        for file in ["cut.mkv", "cut.ts", "cut.mp4"] {
            let clip = try TestClips.flashAndBeep(file, "-c:v libx264 -c:a aac -output_ts_offset 600")
            let film = try MediaFile.open(clip)
            let pictures = try FilmFrames.decode(try film.reader(for: try #require(film.summary.track(.video))))
            let first = try #require(pictures.frames.first)
            #expect(first.start >= .zero && first.start < MediaTime(value: 1, timescale: 10))
            for offset in try offsets(clip, seconds: 1..<4) { #expect(abs(offset) < 0.001) }
        }
    }

    /// Creates concatenated recordings: timestamps restart in the middle.
    private func joined(_ codecs: String) throws -> String {
        let first = try TestClips.flashAndBeep("part.ts", codecs, seconds: 4)
        let second = try TestClips.flashAndBeep("part.ts", codecs, seconds: 5)
        return try TestClips.join([first, second, first], to: "joined.ts")
    }

    @Test func recordingsJoinedEndToEndPlayOnAndStayTogether() throws {
        let clip = try joined("-c:v libx264 -g 25 -c:a aac")
        let film = try MediaFile.open(clip)
        let pictures = try FilmFrames.decode(try film.reader(for: try #require(film.summary.track(.video))))
        let sound = try FilmAudio.decode(try film.reader(for: try #require(film.summary.track(.audio))))
        #expect(pictures.flashes.count == 13)
        #expect(sound.beeps.count >= 12)
        #expect(abs(sound.end.seconds - 13) < 0.3)
        // The middle of each part, where no boundary cuts a beep.
        for second in [1, 2, 3, 5, 6, 7, 8, 10, 11, 12] {
            let flash = try #require(
                pictures.flashes.min { abs($0.seconds - Double(second)) < abs($1.seconds - Double(second)) })
            let beep = try #require(sound.beeps.min { abs($0 - Double(second)) < abs($1 - Double(second)) })
            #expect(abs(flash.seconds - Double(second)) < 0.2)
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        }
    }

    @Test func aJumpBackAcrossAJoinFindsItsPlaceAgain() throws {
        let clip = try joined("-c:v libx264 -g 25 -c:a aac")
        let film = try MediaFile.open(clip)
        let track = try #require(film.summary.track(.video))
        let reader = try film.reader(for: track)
        let all = try FilmFrames.decode(reader)
        for second in [2.5, 6.5, 10.5, 0.5] {
            let target = MediaTime(seconds: second)
            try reader.seek(to: target, mode: .exact)
            let seen = try FilmFrames.decode(reader, showingFrom: target, limit: 30)
            let first = try #require(seen.frames.first)
            let same = try #require(all.frames.first { $0.start + $0.duration > target })
            #expect(first.start == same.start)
            #expect(seen.flashes.first == all.flashes.first { $0 >= first.start })
        }
    }
}
