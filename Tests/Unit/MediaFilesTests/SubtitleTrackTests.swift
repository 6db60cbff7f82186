import Glibc
import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

/// The output of a subtitle reader.
struct ReadSubtitles {
    var cues: [SampleBuffer] = []
    /// The times of all buffers, with and without packets, in order.
    var moments: [MediaTime] = []
    var first: SampleBuffer?

    init(_ source: any SampleSource, until limit: MediaTime? = nil) throws {
        let decoder = try FilmSubtitleCodecs().decoder(for: try #require(source.track.subtitleFormat))
        while let buffer = try source.read() {
            first = first ?? buffer
            let moment = try #require(buffer.presentationTime)
            moments.append(moment)
            cues += try decoder.decode(buffer)
            if let limit, moment >= limit { break }
        }
        #expect(decoder.decodeErrorCount == 0)
    }

    /// The text of each cue, without the fields before it.
    var texts: [String] { cues.compactMap(SubtitleTrackTests.text) }
}

@Suite struct SubtitleTrackTests {
    static func text(_ buffer: SampleBuffer) -> String? {
        guard case .subtitle(let cue) = buffer.payload, case .script(let event, _) = cue.content else { return nil }
        return String(decoding: event, as: UTF8.self).split(
            separator: ",", maxSplits: 8, omittingEmptySubsequences: false
        ).last.map(String.init)
    }

    private let picture = [
        "-f", "lavfi", "-i", "color=s=64x36:r=5:d=4", "-f", "lavfi", "-i", "sine=sample_rate=8000:d=4",
    ]
    private let codecs = TestClips.arguments("-c:v libx264 -preset ultrafast -c:a aac")

    /// Creates ninety seconds with a line from 20 to 80, and short ones.
    private func longLine(_ name: String, _ more: String) throws -> String {
        let lines = try SubtitleFiles.write(
            SubtitleFiles.srt([
                .init(1000, 2000, "first"), .init(20_000, 80_000, "long"), .init(45_000, 46_000, "short"),
                .init(85_000, 86_000, "last"),
            ]), as: "srt")
        return try TestClips.make(
            name,
            TestClips.arguments("-f lavfi -i color=s=64x36:r=5:d=90 -f lavfi -i sine=sample_rate=8000:d=90 -i") + [
                lines
            ]
                + TestClips.arguments("-map 0 -map 1 -map 2 -g 25") + codecs + TestClips.arguments(more))
    }

    @Test(arguments: [("long.mkv", "-c:s srt"), ("long.mp4", "-c:s mov_text")])
    func aJumpIntoALongLineFindsItWhereTheFileHasAnIndexOfItsSubtitles(name: String, more: String) throws {
        let film = try MediaFile.open(try longLine(name, more))
        let reader = try film.source(for: try #require(film.summary.tracks.first { $0.kind == .subtitle }))
        for target in [70, 30, 75] {
            try reader.seek(to: MediaTime(value: Int64(target), timescale: 1), mode: .exact)
            #expect(try ReadSubtitles(reader, until: MediaTime(value: 76, timescale: 1)).texts.contains("long"))
        }
        // The long line has ended, and started more than a minute ago.
        try reader.seek(to: MediaTime(value: 88, timescale: 1), mode: .exact)
        #expect(try ReadSubtitles(reader).texts.last == "last")
    }

    @Test func subtitlesAreTracksThatSayWhatTheyAreAndDoNotStretchTheFilm() throws {
        let one = try SubtitleFiles.write(
            SubtitleFiles.srt([.init(500, 1500, "one"), .init(60_000, 61_000, "late")]), as: "srt")
        let clip = try TestClips.make(
            "kinds.mkv",
            picture + [
                "-i", one, "-i", one, "-i", one, "-map", "0", "-map", "1", "-map", "2", "-map", "3", "-map", "4",
            ]
                + codecs
                + TestClips.arguments(
                    "-c:s srt -metadata:s:s:0 language=ger -metadata:s:s:0 title=Alles -disposition:s:0 default "
                        + "-metadata:s:s:1 language=eng -disposition:s:1 forced "
                        + "-metadata:s:s:2 language=eng -disposition:s:2 hearing_impaired"))
        let film = try MediaFile.open(clip)
        let tracks = film.summary.tracks.filter { $0.kind == .subtitle }
        #expect(tracks.map(\.number) == [1, 2, 3])
        #expect(tracks.map(\.language) == ["ger", "eng", "eng"])
        #expect(tracks.first?.title == "Alles")
        #expect(tracks.map(\.isDefault) == [true, false, false])
        #expect(tracks.map(\.isForced) == [false, true, false])
        #expect(tracks.map(\.isForHearingImpaired) == [false, false, true])
        #expect(tracks.allSatisfy { !$0.isExternal && $0.subtitleFormat?.parameters.codec == "subrip" })
        #expect(film.warnings.isEmpty)
        #expect(try #require(film.summary.track(.video)).number == 1)
        let plain = try MediaFile.open(try TestClips.make("kinds-plain.mkv", picture + codecs))
        #expect(try #require(film.summary.duration).seconds < 61.5)
        #expect(film.summary.track(.video)?.start == plain.summary.track(.video)?.start)
        let read = try ReadSubtitles(try film.source(for: tracks[0]))
        #expect(read.texts == ["one", "late"])
        // The first audio samples are encoder delay, so the video starts slightly after zero.
        let start = try #require(film.summary.track(.video)?.start)
        #expect(
            read.cues.map { $0.presentationTime.map { $0 - start } }
                == [500, 60_000].map { MediaTime(value: $0, timescale: 1000) })
        #expect(read.cues.map(\.duration) == [1000, 1000].map { MediaTime(value: $0, timescale: 1000) })
    }

    @Test func fontsComeWithTheScriptsThatNameThem() throws {
        let lines = try SubtitleFiles.write(SubtitleFiles.srt([.init(500, 1500, "one")]), as: "srt")
        let font = try SubtitleFiles.write([UInt8](repeating: 7, count: 5000), as: "ttf")
        let note = try SubtitleFiles.write("not a font", as: "txt")
        let clip = try TestClips.make(
            "fonts.mkv",
            picture + ["-i", lines] + codecs
                + [
                    "-map", "0", "-map", "1", "-map", "2", "-map", "2", "-c:s:0", "ass", "-c:s:1", "srt", "-attach",
                    font, "-attach", note,
                    "-metadata:s:t:0", "mimetype=application/x-truetype-font", "-metadata:s:t:1", "mimetype=text/plain",
                ])
        let film = try MediaFile.open(clip)
        let tracks = film.summary.tracks.filter { $0.kind == .subtitle }
        let fonts = try #require(tracks[0].subtitleFormat?.fonts)
        #expect(fonts.map(\.bytes.count) == [5000] && fonts[0].name.hasSuffix(".ttf"))
        #expect(tracks[1].subtitleFormat?.fonts == [])
        let read = try ReadSubtitles(try film.source(for: tracks[0]))
        guard case .subtitle(let cue)? = read.cues.first?.payload, case .script(_, let sheet) = cue.content else {
            Issue.record("no script")
            return
        }
        #expect(sheet.isAuthored && sheet.fonts == fonts)
    }

    @Test func excessFontsAreOmitted() throws {
        let lines = try SubtitleFiles.write(SubtitleFiles.srt([.init(500, 1500, "one")]), as: "srt")
        let font = try SubtitleFiles.write([UInt8](repeating: 9, count: 10), as: "otf")
        let attached = (0..<203).flatMap { ["-attach", font, "-metadata:s:t:\($0)", "mimetype=font/otf"] }
        let clip = try TestClips.make(
            "many-fonts.mkv",
            picture + ["-i", lines] + codecs + ["-map", "0", "-map", "1", "-map", "2", "-c:s", "ass"] + attached)
        let film = try MediaFile.open(clip)
        #expect(film.summary.tracks.first { $0.kind == .subtitle }?.subtitleFormat?.fonts.count == 200)
        #expect(film.warnings.count == 1 && film.warnings[0].hasPrefix("3 of the film's fonts were skipped"))
    }

    /// Timestamps restart in the middle; subtitles stay synchronized with audio and video.
    @Test func subtitlesOfRecordingsJoinedEndToEndStayWithTheirPictures() throws {
        // libavcodec treats a second packet with an equal timestamp as the rest of the first.
        let parts = try [2000, 1000].map { moment in
            let graphics = try SubtitleFiles.write(SubtitleFiles.sup([.init(moment, 3000, "")]), as: "sup")
            let disc = try TestClips.make("joined-dvd.mkv", ["-copyts", "-i", graphics, "-c:s", "dvdsub"])
            let broadcast = try TestClips.make("joined-dvb.mkv", ["-copyts", "-i", disc, "-c:s", "dvbsub"])
            return try TestClips.make(
                "joined-part.ts",
                TestClips.arguments(
                    "-f lavfi -i color=s=64x36:r=10:d=4 -f lavfi -i sine=sample_rate=8000:d=4 -copyts -i")
                    + [broadcast]
                    + TestClips.arguments(
                        "-map 0 -map 1 -map 2 -c:v libx264 -preset ultrafast -g 10 -c:a mp2 -b:a 8k -c:s copy -t 4"))
        }
        let film = try MediaFile.open(try TestClips.join(parts, to: "joined-subtitles.ts"))
        let start = try #require(film.summary.track(.video)?.start)
        let source = try film.source(for: try #require(film.summary.tracks.first { $0.kind == .subtitle }))
        let shown = try ReadSubtitles(source).cues.filter { Self.image($0) != nil }
        let times = shown.compactMap { $0.presentationTime.map { ($0 - start).seconds } }
        try #require(times.count == 2)
        #expect(abs(times[0] - 2) < 0.001 && abs(times[1] - 5) < 0.2)
        try source.seek(to: MediaTime(seconds: 5.5), mode: .exact)
        let again = try ReadSubtitles(source).cues.filter { Self.image($0) != nil }
        #expect(again.last?.presentationTime == shown.last?.presentationTime)
    }

    // MARK: One subtitle in half an hour

    static let lonely = ["lonely.mkv", "lonely.mp4", "lonely.ts"]

    private func lonelyFilm(_ name: String) throws -> MediaFile {
        let line = SubtitleFiles.Cue(1_800_000, 1_804_000, "at last")
        let (subtitles, kind): (String, String)
        if name.hasSuffix("ts") {
            // ffmpeg converts Blu-ray subtitles to DVB at a wrong time, except by way of DVD subtitles.
            let graphics = try SubtitleFiles.write(SubtitleFiles.sup([line]), as: "sup")
            let disc = try TestClips.make("lonely-dvd.mkv", ["-copyts", "-i", graphics, "-c:s", "dvdsub"])
            (subtitles, kind) = (
                try TestClips.make("lonely-dvb.mkv", ["-copyts", "-i", disc, "-c:s", "dvbsub"]), "copy"
            )
        } else {
            subtitles = try SubtitleFiles.write(SubtitleFiles.srt([line]), as: "srt")
            kind = name.hasSuffix("mp4") ? "mov_text" : "srt"
        }
        // The muxer waits for a packet of each track (by default 10 s of film at most): since FFmpeg 7 the tracks are
        // encoded in threads, and on a busy machine audio would be written seconds ahead of video.
        return try MediaFile.open(
            try TestClips.make(
                name,
                TestClips.arguments(
                    "-f lavfi -i color=s=64x36:r=2:d=1860 -f lavfi -i sine=sample_rate=8000:d=1860 -copyts -i")
                    + [subtitles]
                    + TestClips.arguments("-map 0 -map 1 -map 2 -c:v libx264 -preset ultrafast -g 20 -c:a mp2 -b:a 8k")
                    + ["-c:s", kind, "-t", "1860", "-max_interleave_delta", "0"]))
    }

    private func check(_ read: ReadSubtitles, _ film: MediaFile, from start: Double) throws {
        for (earlier, later) in zip(read.moments, read.moments.dropFirst()) {
            #expect(later >= earlier && (later - earlier).seconds < 2.5)
        }
        // There is a keyframe every ten seconds.
        #expect((start - 1..<start + 13).contains(try #require(read.moments.first).seconds))
        let first = try #require(read.cues.first { Self.text($0) == "at last" || Self.image($0) != nil })
        let moment = try #require(first.presentationTime) - (film.summary.track(.video)?.start ?? .zero)
        #expect(abs(moment.seconds - 1800) < 0.0011)
    }

    static func image(_ buffer: SampleBuffer) -> OverlayImage? {
        guard case .subtitle(let cue) = buffer.payload, case .images(let images, _) = cue.content else { return nil }
        return images.first
    }

    /// Each read advances by about a second of film, even if there are no packets.
    @Test(arguments: lonely) func aSubtitleInHalfAnHourIsFoundAndUntilThenThereIsPace(_ name: String) throws {
        let film = try lonelyFilm(name)
        let track = try #require(film.summary.tracks.first { $0.kind == .subtitle })
        let source = try film.source(for: track)
        let read = try ReadSubtitles(source)
        #expect(read.moments.count > 1700)
        try check(read, film, from: -1)
        #expect(try source.read() == nil)
    }

    @Test(arguments: lonely) func aSeekFindsSubtitlesVisibleAtItsTarget(_ name: String) throws {
        let film = try lonelyFilm(name)
        let track = try #require(film.summary.tracks.first { $0.kind == .subtitle })
        let source = try film.source(for: track)
        for target in [1803.0, 1790, 1799.99, 1801] {
            let landed = try source.seek(to: MediaTime(seconds: target), mode: .exact)
            #expect(try #require(landed).seconds <= target - 9.9)
            let read = try ReadSubtitles(source, until: MediaTime(seconds: 1806))
            #expect(try #require(read.first).flags.contains(.discontinuity))
            #expect(read.moments.count < 60)
            try check(read, film, from: target - 20)
        }
        try source.seek(to: MediaTime(seconds: 3), mode: .syncBefore)
        let start = try ReadSubtitles(source, until: MediaTime(seconds: 5))
        #expect(try #require(start.moments.first).seconds < 2.5)
    }

    // MARK: Shared input

    /// The subtitle reader of a pipe waits for data that the other readers read, receives their progress, and does not
    /// block them.
    @Test(.timeLimit(.minutes(10))) func subtitlesOfAPipeFollowWhatTheOthersRead() throws {
        let lines = try SubtitleFiles.write(
            SubtitleFiles.srt([.init(200, 900, "one"), .init(9000, 9500, "two")]), as: "srt")
        let clip = try TestClips.make(
            "pipe-subtitles.mkv",
            TestClips.arguments("-f lavfi -i color=s=64x36:r=5:d=10 -f lavfi -i sine=sample_rate=8000:d=10 -i") + [
                lines
            ]
                + TestClips.arguments("-map 0 -map 1 -map 2 -c:v libx264 -preset ultrafast -c:a aac -c:s srt"))
        let folder = TemporaryFolder()
        let path = FedPipe.make(in: folder)
        let feeder = try FedPipe.feed(path, try TestClips.bytes(of: clip))
        let film = try MediaFile.open(path)
        let sources = try [Track.Kind.video, .audio, .subtitle].map { kind in
            try film.source(for: try #require(film.summary.tracks.first { $0.kind == kind }))
        }
        let read = Lock<ReadSubtitles?>(nil)
        let reader = try WorkerThread.start(name: "subtitles") {
            let all = try? ReadSubtitles(sources[2])
            read.withLock { $0 = all }
        }
        // Reads all video before the first audio: the readers do not wait for subtitles.
        for source in sources.prefix(2) { while try source.read() != nil {} }
        reader.join()
        feeder.join()
        let found = try #require(read.withLock { $0 })
        #expect(found.texts == ["one", "two"])
        #expect(zip(found.moments, found.moments.dropFirst()).allSatisfy { $0 <= $1 })
    }
}
