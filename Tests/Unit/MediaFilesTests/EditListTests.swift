import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

/// Edit lists of MP4 (ISO 14496-12, 8.6.6), as phones write them when a recording is cut.
@Suite struct EditListTests {
    private let folder = TemporaryFolder()

    /// A part of the recording: its start and its duration in seconds; nil: nothing is shown.
    private struct Edit {
        var start: Double?
        var duration: Double
    }

    /// Flashes and beeps at each second of ten, with one sync frame, cut by these edits.
    private func film(_ edits: [Edit]) throws -> MediaFile {
        let clip = try TestClips.bytes(
            of: TestClips.flashAndBeep("edits.mp4", "-c:v libx264 -g 250 -bf 2 -c:a aac", seconds: 10))
        return try MediaFile.open(try folder.write(edited(clip, edits), to: "cut.mp4"))
    }

    // MARK: Boxes

    private func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private func bytes(_ value: Int, _ count: Int = 4) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        bytes(content.count + 8) + Array(type.utf8) + content
    }

    private func boxes(_ content: ArraySlice<UInt8>) -> [(type: String, content: ArraySlice<UInt8>)] {
        var (rest, found) = (content, [(String, ArraySlice<UInt8>)]())
        while rest.count >= 8 {
            let size = number(rest.prefix(4))
            found.append((String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self), rest.prefix(size).dropFirst(8)))
            rest = rest.dropFirst(size)
        }
        return found
    }

    private func child(_ content: ArraySlice<UInt8>, _ path: String...) -> ArraySlice<UInt8> {
        path.reduce(content) { content, type in boxes(content).first { $0.type == type }?.content ?? [] }
    }

    /// Replaces the edits of all tracks. The header is behind the samples, whose positions stay.
    private func edited(_ clip: [UInt8], _ edits: [Edit]) -> [UInt8] {
        var output: [UInt8] = []
        for (type, content) in boxes(clip[...]) {
            guard type == "moov" else {
                output += box(type, Array(content))
                continue
            }
            let films = Double(number(child(content, "mvhd").dropFirst(12).prefix(4)))
            var movie: [UInt8] = []
            for (type, content) in boxes(content) {
                guard type == "trak" else {
                    movie += box(type, Array(content))
                    continue
                }
                let scale = Double(number(child(content, "mdia", "mdhd").dropFirst(12).prefix(4)))
                // The first frame's time: encoder delay, or the reordering of frames.
                let first = number(child(content, "edts", "elst").dropFirst(12).prefix(4))
                let entries = edits.flatMap { edit in
                    bytes(Int(edit.duration * films)) + bytes(edit.start.map { first + Int($0 * scale) } ?? -1)
                        + bytes(0x10000)
                }
                let list = box("edts", box("elst", bytes(0) + bytes(edits.count) + entries))
                var track: [UInt8] = []
                for (type, content) in boxes(content) where type != "edts" {
                    track += box(type, Array(content)) + (type == "tkhd" ? list : [])
                }
                movie += box("trak", track)
            }
            output += box("moov", movie)
        }
        return output
    }

    // MARK: Tests

    private func expect(_ film: MediaFile, lasts seconds: Double, events: [Double]) throws {
        #expect(abs((film.summary.duration?.seconds ?? 0) - seconds) < 0.1)
        let pictures = try FilmFrames.decode(film.reader(for: #require(film.summary.track(.video))))
        let sound = try FilmAudio.decode(film.reader(for: #require(film.summary.track(.audio))))
        let last = try #require(pictures.frames.last)
        #expect(abs((last.start + last.duration).seconds - seconds) < 0.1)
        #expect(abs(sound.end.seconds - seconds) < 0.1)
        let shown = pictures.frames.filter { $0.start >= .zero }
        #expect(zip(shown, shown.dropFirst()).allSatisfy { ($1.start - $0.start).seconds < 0.09 })
        let (flashes, beeps) = (
            pictures.flashes.map(\.seconds).filter { $0 > 0 }, sound.beeps.map { $0 - 0.05 }.filter { $0 > 0.1 }
        )
        #expect(flashes.count == events.count && zip(flashes, events).allSatisfy { abs($0 - $1) < 0.05 }, "\(flashes)")
        #expect(beeps.count == events.count && zip(beeps, events).allSatisfy { abs($0 - $1) < 0.03 }, "\(beeps)")
    }

    @Test func aFilmEndsWhereItsEditEndsAlthoughTheRecordingGoesOn() throws {
        try expect(film([Edit(start: 2.3, duration: 4)]), lasts: 4, events: [0.7, 1.7, 2.7, 3.7])
    }

    @Test func twoEditsFollowEachOther() throws {
        let film = try film([Edit(start: 5.3, duration: 2), Edit(start: 1.3, duration: 3)])
        try expect(film, lasts: 5, events: [0.7, 1.7, 2.7, 3.7, 4.7])
    }

    @Test func anEditThatIsLeftOutIsNotShown() throws {
        let film = try film([Edit(start: 0.5, duration: 2), Edit(start: 7.2, duration: 2.5)])
        try expect(film, lasts: 4.5, events: [0.5, 1.5, 2.8, 3.8])
    }
}
