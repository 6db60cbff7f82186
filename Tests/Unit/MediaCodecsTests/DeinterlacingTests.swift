import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

@testable import MediaCodecs

/// Interlaced video, from the file to the screen.
@Suite struct DeinterlacingTests {
    /// Creates a white bar on black that moves by 8 pixels per field, 50 fields per second in 25 frames.
    private func interlaced(order: String = "tff") throws -> String {
        let bar = "lum='if(between(X,8*mod(N,30),8*mod(N,30)+15),235,16)':cb=128:cr=128"
        let mode = order == "tff" ? "interleave_top" : "interleave_bottom"
        return try TestClips.make(
            "fields-\(order).mkv",
            [
                "-f", "lavfi", "-i",
                "color=c=black:s=256x64:r=50:d=1,format=yuv420p,geq=\(bar),tinterlace=mode=\(mode),setfield=\(order)",
            ]
                // Intra-coded and lossless.
                + TestClips.arguments("-c:v libx264 -qp 0 -g 1 -bf 0 -flags +ildct+ilme")
                + TestClips.fieldOrder(isTopFirst: order == "tff"))
    }

    private func progressive() throws -> String {
        try TestClips.make("plain.mkv", TestClips.arguments("-f lavfi -i testsrc2=s=128x64:r=25:d=1 -c:v ffv1"))
    }

    /// Returns all frames and the decoder.
    private func play(
        _ path: String, _ mode: Deinterlacing = .auto, from time: MediaTime? = nil,
        each: (Int, DeinterlacingSwitch, FilmVideoDecoder) throws -> Void = { _, _, _ in }
    ) throws -> (pictures: [SampleBuffer], decoder: FilmVideoDecoder) {
        let film = try MediaFile.open(path)
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        let wish = DeinterlacingSwitch(mode)
        let decoder = try FilmVideoDecoder(
            format: try #require(reader.track.videoFormat), threads: 1, deinterlacing: wish)
        if let time { decoder.dropFrames(before: time) }
        var all: [SampleBuffer] = []
        var count = 0
        while let buffer = try reader.read() {
            try decoder.send(buffer)
            while let picture = decoder.receive() { all.append(picture) }
            try each(count, wish, decoder)
            count += 1
        }
        decoder.finish()
        while let picture = decoder.receive() { all.append(picture) }
        return (all, decoder)
    }

    /// Returns the column at which the bar starts in a row; nil if the row has no bright pixel.
    private func bar(_ buffer: SampleBuffer, row: Int) -> Int? {
        guard let picture = buffer.videoFrame else { return nil }
        return picture.withPlanes { planes in
            let line = planes.bases.0! + row * planes.strides.0
            return (0..<picture.size.width).first { line[$0] > 128 }
        }
    }

    @Test(arguments: ["tff", "bff"]) func everyFieldIsAPictureAtItsOwnMoment(order: String) throws {
        let (pictures, decoder) = try play(try interlaced(order: order))
        #expect(decoder.hasDeinterlaced)
        #expect(pictures.count == 50)
        for (index, buffer) in pictures.enumerated() {
            let time = try #require(buffer.presentationTime)
            // The container's timestamps are in milliseconds: 40 and its half are exact.
            #expect(time == MediaTime(value: Int64(index) * 20, timescale: 1000))
            #expect(buffer.duration == MediaTime(value: 20, timescale: 1000))
            // Rows of both fields show the same moment: no combing.
            if index > 2, index < 47 {
                let (even, odd) = (bar(buffer, row: 32), bar(buffer, row: 33))
                #expect(even == 8 * (index % 30) && odd == even, "field \(index)")
            }
        }
    }

    @Test func aFilmThatIsNotInterlacedNeverMeetsTheFilter() throws {
        let (pictures, decoder) = try play(try progressive())
        #expect(pictures.count == 25)
        #expect(!decoder.hasDeinterlaced)
    }

    @Test func aFilmThatDoesNotSayItIsDeinterlacedWhenAPersonSaysIt() throws {
        let (pictures, _) = try play(try progressive(), .yes)
        #expect(pictures.count == 50)
        #expect(pictures.map { $0.presentationTime!.seconds }.last.map { abs($0 - 0.98) < 0.001 } == true)
    }

    @Test func noLeavesTheFieldsTogether() throws {
        let (pictures, decoder) = try play(try interlaced(), .no)
        #expect(pictures.count == 25)
        #expect(!decoder.hasDeinterlaced)
    }

    @Test func aChangeInMidFilmLosesAndRepeatsNothing() throws {
        let (pictures, _) = try play(try interlaced(), .no) { count, wish, _ in
            if count == 9 { wish.mode = .auto }
            if count == 17 { wish.mode = .no }
        }
        var at = MediaTime.zero
        for buffer in pictures {
            #expect(buffer.presentationTime == at)
            at = try #require(buffer.end)
        }
        #expect(at == MediaTime(value: 1, timescale: 1))
        #expect(pictures.count > 25 && pictures.count < 50)
    }

    @Test func aJumpLeavesNothingBehind() throws {
        let (pictures, _) = try play(try interlaced()) { count, _, decoder in if count == 11 { decoder.flush() } }
        let times = pictures.compactMap { $0.presentationTime?.seconds }
        #expect(times == times.sorted())
        #expect(Set(times).count == times.count)
        // The frame held by the filter was discarded; the following frames start with their own first field.
        let behind = times.filter { $0 > 0.42 }
        #expect(behind.first.map { abs($0 - 0.48) < 0.001 } == true)
        #expect(behind.count == 26)
    }

    @Test func anExactJumpIntoTheSecondHalfOfAPictureShowsTheSecondField() throws {
        let place = MediaTime(value: 430, timescale: 1000)
        let (pictures, _) = try play(try interlaced(), from: place)
        #expect(pictures.first?.presentationTime == MediaTime(value: 420, timescale: 1000))
        let early = try play(try interlaced(), from: MediaTime(value: 410, timescale: 1000)).pictures
        #expect(early.first?.presentationTime == MediaTime(value: 400, timescale: 1000))
    }

    /// H.264 in transport streams has a packet per field, and frame durations of one field.
    @Test func aPictureThatStatesTheLengthOfOneFieldLastsUntilTheNext() throws {
        let film = try MediaFile.open(try interlaced())
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        let format = try #require(reader.track.videoFormat)
        let (decoder, fields) = (try VideoDecoder(format: format, threads: 1), Deinterlacer())
        var found: [SampleBuffer] = []
        for number in 0..<8 {
            try decoder.send(try #require(try reader.read()))
            var buffer = try #require(decoder.receive())
            // A gap before the last two frames.
            if number >= 6 {
                buffer = SampleBuffer(payload: buffer.payload, presentationTime: buffer.end! + buffer.duration)
            }
            buffer.duration = MediaTime(value: 20, timescale: 1000)
            let picture = try #require(buffer.videoFrame as? DecodedFrame)
            #expect(fields.push(buffer, picture, takesAll: false, of: format, to: &found))
        }
        fields.finish(format, to: &found)
        let times = found.compactMap { $0.presentationTime?.seconds }.map { Int(($0 * 1000).rounded()) }
        #expect(times == [0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 210, 320, 340, 360, 370])
    }

    @Test func aPictureThatIsAloneIsTwoFieldsToo() throws {
        let film = try MediaFile.open(try interlaced())
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        let decoder = try FilmVideoDecoder(format: try #require(reader.track.videoFormat), threads: 1)
        try decoder.send(try #require(try reader.read()))
        decoder.finish()
        var found: [MediaTime?] = []
        while let buffer = decoder.receive() { found.append(buffer.presentationTime) }
        #expect(found == [.zero, MediaTime(value: 20, timescale: 1000)])
    }

    @Test func aPlaceBehindTheEndShowsTheLastPicture() throws {
        let (pictures, _) = try play(try interlaced(), from: MediaTime(value: 9, timescale: 1))
        #expect(pictures.last?.end == MediaTime(value: 1, timescale: 1))
    }

    @Test func deinterlacingRestartsAfterTheEnd() throws {
        let path = try interlaced()
        let film = try MediaFile.open(path)
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        let decoder = try FilmVideoDecoder(format: try #require(reader.track.videoFormat), threads: 1)
        for _ in 0..<2 {
            var count = 0
            while let buffer = try reader.read() {
                try decoder.send(buffer)
                while decoder.receive() != nil { count += 1 }
            }
            decoder.finish()
            while decoder.receive() != nil { count += 1 }
            #expect(count == 50)
            try reader.seek(to: .zero, mode: .exact)
            decoder.flush()
        }
    }
}
