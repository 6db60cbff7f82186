import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

@testable import MediaCodecs

/// A decoder that decodes another film after its first one, as that of a display layer.
@Suite struct DecoderReuseTests {
    private func reader(rate: Int, in container: String) throws -> any SampleSource {
        let film = try MediaFile.open(
            try TestClips.make(
                "reused-\(rate).\(container)",
                TestClips.arguments("-f lavfi -i testsrc=s=64x64:r=\(rate):d=1 -c:v mpeg4 -bf 0")))
        return try film.reader(for: try #require(film.summary.track(.video)))
    }

    /// Returns the times of all frames.
    private func times(
        of source: any SampleSource, by decoder: FilmVideoDecoder, isDiscontinuous: Bool = false
    ) throws -> [MediaTime] {
        var (all, isFirst): ([MediaTime], Bool) = ([], true)
        func receive() { while let frame = decoder.receive() { all.append(frame.presentationTime ?? .zero) } }
        while var buffer = try source.read() {
            if isFirst, isDiscontinuous { buffer.flags.insert(.discontinuity) }
            isFirst = false
            try decoder.send(buffer)
            receive()
        }
        decoder.finish()
        receive()
        return all
    }

    @Test(arguments: [true, false]) func anotherFilmHasItsOwnTimescale(isFlushed: Bool) throws {
        let (first, second) = (try reader(rate: 25, in: "avi"), try reader(rate: 30, in: "mp4"))
        let decoder = try FilmVideoDecoder(format: try #require(first.track.videoFormat), threads: 1)
        #expect(try times(of: first, by: decoder).count == 25)
        if isFlushed { decoder.flush() }
        let starts = try times(of: second, by: decoder, isDiscontinuous: !isFlushed)
        #expect(starts.count == 30)
        for (number, start) in starts.enumerated() { #expect(abs(start.seconds - Double(number) / 30) < 0.001) }
    }
}
