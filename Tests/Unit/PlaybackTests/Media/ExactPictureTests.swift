import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

@testable import Playback

/// An exact seek shows the frame that continuous playback would show, in any encoding.
@Suite struct ExactPictureTests {
    struct Film: Sendable, CustomTestStringConvertible {
        var name: String
        var codec: String
        /// Frames that are removed from a film of 25 frames per second.
        var without = "0"
        var testDescription: String { name }
    }

    static let films = [
        Film(
            name: "pyramid.mp4",
            codec: "-c:v libx264 -preset veryfast -x264-params bframes=5:b-adapt=0:b-pyramid=normal:ref=4:"
                + "keyint=50:scenecut=0:open-gop=1"),
        Film(name: "hevc.mkv", codec: "-c:v libx265 -preset ultrafast -x265-params log-level=0:keyint=50:bframes=4"),
        Film(name: "open.mpg", codec: "-c:v mpeg2video -q:v 4 -bf 2 -g 30"),
        Film(name: "broadcast.ts", codec: "-c:v libx264 -preset veryfast -x264-params bframes=3:keyint=40:open-gop=1"),
        Film(name: "long.mp4", codec: "-c:v libx264 -preset veryfast -g 250 -bf 3"),
        Film(
            name: "gaps.mkv", codec: "-c:v libx264 -preset veryfast -g 60 -bf 3 -fps_mode vfr",
            without: "between(mod(n\\,50)\\,20\\,39)+eq(mod(n\\,7)\\,3)"),
    ]

    private struct Seen: Equatable {
        var start: MediaTime
        var checksum: Int
    }

    /// Returns the time of a frame and a checksum of its luma.
    private func seen(_ buffer: SampleBuffer) throws -> Seen {
        let picture = try #require(buffer.videoFrame)
        let checksum = picture.withPlanes { planes in
            var hasher = Hasher()
            guard let base = planes.bases.0 else { return 0 }
            for row in 0..<picture.size.height {
                hasher.combine(bytes: .init(start: base + row * planes.strides.0, count: picture.size.width))
            }
            return hasher.finalize()
        }
        return Seen(start: try #require(buffer.presentationTime), checksum: checksum)
    }

    private func next(_ reader: VideoReader) throws -> Seen? { try reader.nextFrame().map(seen) }

    private func open(_ film: Film) throws -> VideoReader {
        let path = try TestClips.make(
            "exact-" + film.name,
            TestClips.arguments("-f lavfi -i testsrc2=s=192x108:r=25:d=12,select='not(\(film.without))' \(film.codec)"))
        let media = try MediaFile.open(path)
        let track = try #require(media.summary.track(.video))
        return VideoReader(
            film: media, source: try media.reader(for: track),
            decoder: try FilmVideoDecoder(format: try #require(track.videoFormat), threads: 2))
    }

    /// Returns the frames of continuous playback from start to end.
    private func play(_ film: Film) throws -> [Seen] {
        let reader = try open(film)
        var all: [Seen] = []
        while let picture = try next(reader) { all.append(picture) }
        return all
    }

    @Test(arguments: films) func aSeekShowsTheFrameOfItsTargetAndContinuesWithTheNext(_ film: Film) throws {
        let all = try play(film)
        try #require(all.count > 100)
        let reader = try open(film)
        var place = 0
        var seed: UInt64 = 7
        for round in 0..<40 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            // Mostly short distances forward, as users seek, and back from the end.
            let step = round % 4 == 3 ? 4000 + Int(seed >> 33) % 6000 : 100 + Int(seed >> 33) % 1900
            place = (place + step) % 11_500
            // Frames skipped before on a slow machine must not be missing here.
            if round % 5 == 4 { reader.decoder.skipPolicy = [.syncOnly, .referencesOnly, .plain][round % 3] }
            let target = MediaTime(value: Int64(place), timescale: 1000)
            try reader.seek(to: target, aim: .exact)
            let first = try #require(try next(reader))
            reader.decoder.skipPolicy = .full
            let index = max(0, (all.firstIndex { $0.start > target } ?? all.count) - 1)
            #expect(first == all[index], "to \(place) ms: \(first.start.seconds), not \(all[index].start.seconds)")
            guard round % 5 != 4 else { continue }
            for offset in 1...3 where index + offset < all.count {
                #expect(try next(reader) == all[index + offset], "\(offset) behind \(place) ms")
            }
        }
    }

    /// The index shows no keyframe in between: reading on costs the frames in between, a seek all frames since the
    /// keyframe.
    @Test func aShortWayAheadReadsOnFromWhereItIs() throws {
        let reader = try open(Self.films[4])
        var read: [MediaTime] = []
        let source = CountingSource(reader.source) { read.append($0) }
        let counted = VideoReader(film: reader.film, source: source, decoder: reader.decoder)
        try counted.seek(to: MediaTime(value: 5, timescale: 1), aim: .exact)
        _ = try next(counted)
        read = []
        try counted.seek(to: MediaTime(value: 6, timescale: 1), aim: .exact)
        #expect(try next(counted)?.start == MediaTime(value: 6, timescale: 1))
        #expect(source.jumps == 1)
        #expect(read.count < 35)
        try counted.seek(to: MediaTime(value: 5, timescale: 1), aim: .exact)
        #expect(source.jumps == 2)
    }
}

/// Counts what is read of a source, and seeks.
private final class CountingSource: SampleSource, @unchecked Sendable {
    private let inner: any SampleSource
    private let note: (MediaTime) -> Void
    private(set) var jumps = 0

    init(_ inner: any SampleSource, note: @escaping (MediaTime) -> Void) { (self.inner, self.note) = (inner, note) }

    var track: Track { inner.track }

    func read() throws(MediaError) -> SampleBuffer? {
        let buffer = try inner.read()
        if let time = buffer?.presentationTime { note(time) }
        return buffer
    }

    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        jumps += 1
        return try inner.seek(to: time, mode: mode)
    }

    func syncTime(before time: MediaTime) -> MediaTime? { inner.syncTime(before: time) }
    func cancel() { inner.cancel() }
}
