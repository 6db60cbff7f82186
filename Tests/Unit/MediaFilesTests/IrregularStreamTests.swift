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
        return try SeenPictures.decode(reader, showingFrom: time).flashes.map(\.seconds)
    }

    private func beeps(_ film: MediaFile) throws -> [Double] {
        let reader = try film.reader(for: #require(film.summary.track(.audio)))
        try reader.seek(to: .zero, mode: .exact)
        return try HeardSound.decode(reader).beeps.map { $0 - 0.05 }
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
        #expect(try HeardSound.decode(reader).beeps.count >= 3)
        feeder.join()
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
        let heard = try HeardSound.decode(try film.reader(for: #require(film.summary.track(.audio))))
        let length = try #require(film.summary.duration?.seconds)
        #expect(length > 3 && length < 5.1 && abs(heard.end.seconds - length) < 0.1, "\(length), \(heard.end.seconds)")
    }
}
