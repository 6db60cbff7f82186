import CFFmpeg
import MediaCore
import TalkieTestKit
import Testing

@testable import MediaFiles

/// ±2^62 and ±(2^63 − 1) in every number from libavformat, playlists and servers: none traps, and none is accepted.
@Suite struct ExtremeNumbersTests {
    static let extremes: [Int64] = [1 << 62, -(1 << 62), .max, .min, .min + 1]

    /// A single audio stream and its clock.
    private final class Bench {
        let context = avformat_alloc_context()!
        let stream: UnsafeMutablePointer<AVStream>
        let packet = av_packet_alloc()!

        init(_ base: AVRational = AVRational(num: 1, den: 1_000_000_000)) {
            stream = avformat_new_stream(context, nil)
            stream.pointee.time_base = base
            stream.pointee.codecpar.pointee.codec_type = AVMEDIA_TYPE_AUDIO
            stream.pointee.codecpar.pointee.codec_id = AV_CODEC_ID_AAC
            stream.pointee.codecpar.pointee.sample_rate = 48000
            av_new_packet(packet, 32)
        }

        deinit {
            avformat_free_context(context)
            var last = Optional(packet)
            av_packet_free(&last)
        }
    }

    @Test(arguments: extremes) func packetsLoseWhatIsBeyondTheLimits(_ value: Int64) {
        let bench = Bench()
        bench.packet.pointee.pts = value
        bench.packet.pointee.dts = value
        bench.packet.pointee.duration = value
        bench.packet.pointee.pos = value
        DemuxContext.bound(bench.packet, of: bench.stream)
        let seen = bench.packet.pointee
        #expect(seen.pts == cff_nopts_value && seen.dts == cff_nopts_value && seen.duration == 0 && seen.pos == -1)
    }

    @Test func soundThatIsToBeHeardHoursFromItsDecodingIsHeardInItsPlace() {
        let bench = Bench(AVRational(num: 1, den: 48000))
        for (pts, heard) in [(1_725_361_592, 2048), (-1_725_361_592, 2048), (2560, 2560)] as [(Int64, Int64)] {
            (bench.packet.pointee.pts, bench.packet.pointee.dts) = (pts, 2048)
            DemuxContext.bound(bench.packet, of: bench.stream)
            #expect(bench.packet.pointee.pts == heard && bench.packet.pointee.dts == 2048)
        }
        bench.stream.pointee.codecpar.pointee.codec_type = AVMEDIA_TYPE_VIDEO
        (bench.packet.pointee.pts, bench.packet.pointee.dts) = (1_725_361_592, 2048)
        DemuxContext.bound(bench.packet, of: bench.stream)
        #expect(bench.packet.pointee.pts == cff_nopts_value && bench.packet.pointee.dts == 2048)
    }

    @Test(arguments: extremes) func aTrackClockHasNoTimeForThem(_ value: Int64) {
        for base in [
            AVRational(num: 1, den: 1_000_000_000), AVRational(num: 1001, den: 24000), AVRational(num: .max, den: 1),
        ] {
            let bench = Bench(base)
            for origin in [MediaTime.zero, MediaTime(value: 1, timescale: 3), MediaTime(value: .max, timescale: 1)] {
                let clock = TrackClock(stream: bench.stream, origin: origin)
                #expect(clock.filmTime(value) == nil && clock.ownTime(value) == nil && clock.unwrapped(value) == nil)
                #expect(clock.length(value) == .zero)
                _ = clock.raw(MediaTime(value: value, timescale: 1))
            }
        }
    }

    @Test func soundThatJumpsFromOneEndToTheOtherIsPacked() {
        let bench = Bench()
        let format = AudioFormat(
            parameters: CodecParameters(codec: "aac"), sampleRate: 48000, layout: ChannelLayout(mask: 4, count: 1))
        let track = Track(id: 0, number: 1, format: .audio(format))
        var packager = PacketBatcher(
            track: track, stream: bench.stream, clock: TrackClock(stream: bench.stream, origin: .zero),
            batch: .milliseconds(1))
        for value in Self.extremes + [InputLimit.maxTicks, -InputLimit.maxTicks, 0] + Self.extremes.reversed() {
            (bench.packet.pointee.pts, bench.packet.pointee.dts, bench.packet.pointee.duration) = (value, value, value)
            packager.add(bench.packet, shift: .zero, isNewRecording: true)
        }
        packager.close()
        while let buffer = packager.nextReady() {
            #expect(buffer.presentationTime.map { abs($0.seconds) <= Double(InputLimit.maxSeconds) } ?? true)
            #expect(buffer.duration.seconds < 60)
        }
    }

    /// A damaged index of subtitles: each entry has an extreme position.
    @Test(arguments: extremes) func anIndexAtTheFarEndsIsNoReachOfSubtitles(_ value: Int64) throws {
        let path = try TestClips.flashAndBeep("reach.mkv", "-c:v libx264 -g 12 -c:a aac")
        let context = try DemuxContext(InputAddress(path), options: ReadOptions(), cancellations: [])
        let (leader, lines) = (context.streams[0], context.streams[1])
        let clock = TrackClock(stream: lines, origin: .zero)
        av_add_index_entry(lines, 100, 100, 1, 0, AVINDEX_KEYFRAME)
        av_add_index_entry(leader, 5000, 2900, 1, 0, AVINDEX_KEYFRAME)
        let reach = try #require(SubtitleReach(context, stream: 1, leader: 0, clock: clock))
        let time = MediaTime(value: 3, timescale: 1)
        #expect(reach.start(for: time) == MediaTime(value: 1, timescale: 10))
        // Entries with a position beyond the limits end the search.
        av_add_index_entry(lines, value, 200, 1, 0, AVINDEX_KEYFRAME)
        #expect(reach.start(for: time) == nil)
        for entry in 0..<avformat_index_get_entries_count(leader) {
            let stamp = avformat_index_get_entry(leader, entry)!.pointee.timestamp
            av_add_index_entry(leader, value, stamp, 1, 0, AVINDEX_KEYFRAME)
        }
        #expect(reach.start(for: time) == nil)
        _ = reach.start(for: MediaTime(value: value, timescale: 1))
    }

    @Test(arguments: [AVRational(num: 131_073, den: 10), AVRational(num: .max, den: 1)])
    func aTickOfHoursIsRefused(_ base: AVRational) {
        #expect(FormatReading.problem(withTimeBase: base) != nil)
        #expect(FormatReading.problem(withTimeBase: AVRational(num: 60, den: 1)) == nil)
    }

    @Test(arguments: [2, 8, 999, 6_144_001, .max, -1, 0] as [Int32]) func aSampleRateThatNoSoundHasIsRefused(
        _ rate: Int32
    ) {
        let bench = Bench()
        bench.stream.pointee.codecpar.pointee.sample_rate = rate
        av_channel_layout_default(&bench.stream.pointee.codecpar.pointee.ch_layout, 1)
        #expect(FormatReading.problem(with: bench.stream.pointee.codecpar)?.code == .notMedia)
        bench.stream.pointee.codecpar.pointee.sample_rate = 8000
        #expect(FormatReading.problem(with: bench.stream.pointee.codecpar) == nil)
    }

    /// `mFramesPerPacket` of the description: a second of samples would be played for two minutes.
    @Test func pcmWhosePacketsLastLongerThanTheirSamplesIsRefused() throws {
        let folder = TemporaryFolder()
        var bytes = try TestClips.bytes(of: TestClips.flashAndBeep("frames.caf", "-vn -c:a pcm_s16be"))
        #expect(bytes[40..<44].elementsEqual([0, 0, 0, 1]))
        #expect(try MediaFile.open(try folder.write(bytes, to: "good.caf")).summary.tracks.count == 1)
        bytes[43] = 128
        let path = try folder.write(bytes, to: "long.caf")
        let error = #expect(throws: MediaError.self) { try MediaFile.open(path) }
        #expect(error?.code == .notMedia)
    }

    // MARK: Servers and playlists

    @Test(arguments: extremes) func headersOfServersAreMissing(_ value: Int64) throws {
        let head =
            "HTTP/1.1 206 OK\r\nContent-Length: \(value)\r\nContent-Range: bytes \(value)-\(value)/\(value)\r\n\r\n"
        let answer = try #require(HTTPResponse(Array(head.utf8)[...]))
        #expect(answer.length == nil && answer.range == nil)
        let total = "HTTP/1.1 206 OK\r\nContent-Range: bytes 7-9/\(value)\r\n\r\n"
        let range = try #require(HTTPResponse(Array(total.utf8)[...])?.range)
        #expect(range.first == 7 && range.total == nil)
    }

    @Test(arguments: extremes) func numbersOfAPlaylistDoNotTrap(_ value: Int64) throws {
        let text = """
            #EXTM3U
            #EXT-X-MEDIA-SEQUENCE:\(value)
            #EXT-X-TARGETDURATION:\(value)
            #EXT-X-MAP:URI="a.mp4",BYTERANGE="\(value)@\(value)"
            #EXTINF:\(value),
            #EXT-X-BYTERANGE:\(value)@\(value)
            a.mp4
            #EXTINF:2,
            #EXT-X-BYTERANGE:\(value)
            b.mp4
            #EXTINF:2,
            #EXT-X-BYTERANGE:7@\(value)
            b.mp4
            #EXTINF:2,
            #EXT-X-BYTERANGE:\(Int64.max)
            c.mp4
            #EXT-X-ENDLIST
            """
        let playlist = try #require(MediaPlaylist(Array(text.utf8)))
        #expect(playlist.pieces.count == 4 && playlist.seconds.isFinite)
        for moment in [0.0, 1, 3, 5, 1e30] { _ = playlist.cut(at: MediaTime(seconds: moment)) }
        _ = playlist.cut(at: MediaTime(value: value, timescale: 1))
    }
}
