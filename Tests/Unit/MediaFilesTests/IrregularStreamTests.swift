import MediaCore
import TalkieTestKit
import Testing

@testable import MediaFiles

/// Streams whose tracks begin late, and files joined from several.
@Suite struct IrregularStreamTests {
    private let folder = TemporaryFolder()

    private func clip(_ name: String, _ codec: String, seconds: Int = 4, sampleRate: Int = 48_000) throws -> String {
        try TestClips.flashAndBeep(name, codec, seconds: seconds, sampleRate: sampleRate)
    }

    private func flashes(_ film: MediaFile, from time: MediaTime? = nil) throws -> [Double] {
        let reader = try film.reader(for: #require(film.summary.track(.video)))
        try reader.seek(to: time ?? .zero, mode: .exact)
        return try FilmFrames.decode(reader, showingFrom: time).flashes.map(\.seconds)
    }

    private func beeps(_ film: MediaFile) throws -> [Double] {
        let reader = try film.reader(for: #require(film.summary.track(.audio)))
        try reader.seek(to: .zero, mode: .exact)
        return try FilmAudio.decode(reader).beeps.map { $0 - 0.05 }
    }

    // MARK: Late tracks

    @Test(arguments: [
        ("aac.ts", "-c:v libx264 -g 25 -c:a aac"), ("ac3.ts", "-c:v libx264 -g 25 -c:a ac3"),
        ("mp2.mpg", "-c:v mpeg2video -g 25 -c:a mp2"),
    ])
    func soundThatBeginsAfterEightSecondsIsHeard(_ name: String, _ codec: String) throws {
        let film = try MediaFile.open(try clip("late-" + name, "-af atrim=start=8 \(codec)", seconds: 12))
        let (flashes, beeps) = (try flashes(film), try beeps(film))
        #expect(flashes.count >= 11)
        #expect(beeps.count >= 3)
        for beep in beeps { #expect(flashes.contains { abs($0 - beep) < 0.05 }, "\(beep) of \(flashes)") }
    }

    @Test func aPictureThatBeginsAfterEightSecondsIsSeen() throws {
        let film = try MediaFile.open(
            try clip("late-picture.ts", "-vf trim=start=8 -c:v libx264 -g 25 -c:a aac", seconds: 12))
        #expect(film.summary.track(.video)?.videoFormat?.size == PixelSize(width: 192, height: 108))
        #expect(try flashes(film).count >= 3)
    }

    /// Through a pipe, only what was probed is known: the packets state the rest.
    @Test func lateSoundOfAPipeIsDecodedByWhatItsPacketsState() throws {
        let late = try clip("late-aac.ts", "-af atrim=start=8 -c:v libx264 -g 25 -c:a aac", seconds: 12)
        let pipe = FedPipe.make(in: folder)
        let feeder = try FedPipe.feed(pipe, try TestClips.bytes(of: late))
        let film = try MediaFile.open(pipe)
        let reader = try film.reader(for: #require(film.summary.track(.audio)))
        #expect(try FilmAudio.decode(reader).beeps.count >= 3)
        feeder.join()
    }

    /// The server pauses while the late sound is searched. The interrupted call was taken for a failure at the end.
    @Test func afterProbingThatItsDeadlineEndedTheFilmIsReadToItsEnd() throws {
        let late = try clip("late-aac.ts", "-af atrim=start=8 -c:v libx264 -g 25 -c:a aac", seconds: 12)
        _ = try folder.write(try TestClips.bytes(of: late), to: "late.ts")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        var options = ReadOptions()
        options.openTimeout = .milliseconds(400)
        let film = try MediaFile.open(server.url("faulty/late.ts"), options: options)
        let reader = try film.reader(for: #require(film.summary.track(.video)))
        try reader.seek(to: .zero, mode: .exact)
        #expect(try FilmFrames.decode(reader).flashes.count >= 11)
    }

    // MARK: Joined files

    @Test(arguments: [0.0, 2.5, 6.5]) func timestampsMayStepBackByHalfAMinute(from seconds: Double) throws {
        let codec = "-c:v libx264 -g 25 -c:a aac"
        let path = try TestClips.join(
            [clip("ahead.ts", codec + " -output_ts_offset 35"), clip("start.ts", codec)], to: "back.ts")
        let film = try MediaFile.open(path)
        let flashes = try flashes(film, from: MediaTime(seconds: seconds))
        let expected = (0..<8).map(Double.init).filter { $0 > seconds }
        #expect(flashes.suffix(expected.count).count == expected.count)
        #expect(zip(flashes.suffix(expected.count), expected).allSatisfy { abs($0 - $1) < 0.2 }, "\(flashes)")
    }

    /// 35 s back: the duration computed from the timestamps is too short. 200 s back: it is that of a wraparound, 26 h.
    @Test func timestampsThatStepBackFarStateNoDurationOfHours() throws {
        let codec = "-c:v libx264 -g 25 -c:a aac"
        let path = try TestClips.join(
            [clip("far-ahead.ts", codec + " -output_ts_offset 200"), clip("start.ts", codec)], to: "far-back.ts")
        let film = try MediaFile.open(path)
        #expect((film.summary.duration?.seconds ?? 0) < 100, "\(film.summary.duration?.seconds ?? 0)")
        #expect(try flashes(film).count >= 6)
    }

    /// libavformat computes all times by the first rate.
    @Test func anotherRateInAChainedOggFileIsReported() throws {
        let songs = [("one.ogg", 48_000), ("two.ogg", 44_100)]
        let path = try TestClips.join(
            songs.map { try clip($0.0, "-vn -c:a libvorbis", sampleRate: $0.1) }, to: "chained.ogg")
        let film = try MediaFile.open(path)
        let reader = try film.reader(for: #require(film.summary.track(.audio)))
        var (errors, end) = ([MediaError](), 0.0)
        while true {
            do throws(MediaError) {
                guard let buffer = try reader.read() else { break }
                end = buffer.end?.seconds ?? end
            } catch {
                errors.append(error)
                guard error.isRecoverable else { break }
            }
        }
        #expect(errors.count == 1, "\(errors)")
        #expect(errors.first?.message.contains("44100 Hz instead of 48000 Hz") == true)
        #expect(end > 7)
    }

    /// The header and the fragments from eight seconds on, as a recording of a live stream begins.
    @Test func fragmentsThatBeginLateStateTheirOwnLength() throws {
        let whole = try TestClips.bytes(
            of: clip(
                "fragments.mp4", "-c:v libx264 -g 25 -c:a aac -movflags frag_keyframe+empty_moov+default_base_moof",
                seconds: 12))
        var (boxes, offset) = ([(kind: String, bytes: ArraySlice<UInt8>)](), 0)
        while offset + 8 <= whole.count {
            let size = whole[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            let kind = String(decoding: whole[offset + 4..<offset + 8], as: UTF8.self)
            boxes.append((kind, whole[offset..<offset + size]))
            offset += size
        }
        let header = boxes.prefix { $0.kind != "moof" }
        let fragments = boxes.filter { ["moof", "mdat"].contains($0.kind) }
        let kept = header + fragments.dropFirst(fragments.count / 4 * 2)
        let film = try MediaFile.open(try folder.write(kept.flatMap(\.bytes), to: "late-fragments.mp4"))
        let heard = try FilmAudio.decode(try film.reader(for: #require(film.summary.track(.audio))))
        let length = try #require(film.summary.duration?.seconds)
        #expect(length > 3 && length < 9 && abs(heard.end.seconds - length) < 0.2, "\(length), \(heard.end.seconds)")
    }

    /// The pages from eight seconds on, behind the two headers.
    @Test func anOpusFileThatBeginsLateStatesItsOwnLength() throws {
        let clip = try TestClips.bytes(of: clip("long.opus", "-vn -c:a libopus", seconds: 12))
        var (kept, offset, page) = ([UInt8](), 0, 0)
        while offset + 27 < clip.count {
            let lacing = Int(clip[offset + 26])
            let size = 27 + lacing + clip[offset + 27..<offset + 27 + lacing].reduce(0) { $0 + Int($1) }
            let position = clip[offset + 6..<offset + 14].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
            if page < 2 || position > 8 * 48_000 { kept += clip[offset..<offset + size] }
            (offset, page) = (offset + size, page + 1)
        }
        let film = try MediaFile.open(try folder.write(kept, to: "cut.opus"))
        let heard = try FilmAudio.decode(try film.reader(for: #require(film.summary.track(.audio))))
        let length = try #require(film.summary.duration?.seconds)
        #expect(length > 3 && length < 5.1 && abs(heard.end.seconds - length) < 0.1, "\(length), \(heard.end.seconds)")
    }
}
