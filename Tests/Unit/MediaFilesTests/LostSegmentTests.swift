import Glibc
import MediaCore
import TalkieTestKit
import Testing

@testable import MediaFiles

/// Segments of playlists that a server does not have, or truncates.
@Suite(.serialized) struct LostSegmentTests {
    private let folder = TemporaryFolder()

    private static let apart =
        "-map 0:v -map 0:a -c copy -f hls -hls_playlist_type vod -var_stream_map v:0,agroup:s~a:0,agroup:s"

    private func make(_ words: String, into name: String, seconds: Int = 6) throws {
        let film = try TestClips.flashAndBeep("lost-\(seconds).mkv", "-c:v libx264 -g 25 -c:a aac", seconds: seconds)
        try TestClips.make(
            name, in: folder.path, ["-i", film] + TestClips.arguments(words).map { $0.replacing("~", with: " ") })
    }

    private func lines(of name: String) throws -> [String] {
        String(decoding: try TestClips.bytes(of: folder.path(name)), as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    /// Replaces the address of one segment in a playlist.
    private func change(segment number: Int, of name: String, _ body: (String) -> String) throws {
        var lines = try lines(of: name)
        let index = lines.indices.filter { !lines[$0].hasPrefix("#") }[number]
        lines[index] = body(lines[index])
        try folder.write(Array((lines + [""]).joined(separator: "\n").utf8), to: name)
    }

    /// Creates video and audio with separate playlists.
    private func makeApart(_ words: String, seconds: Int = 6) throws {
        try make("\(Self.apart) \(words)", into: "part%v.m3u8", seconds: seconds)
        let master = [
            "#EXTM3U", "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"s\",NAME=\"x\",DEFAULT=YES,URI=\"part1.m3u8\"",
            "#EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"s\"", "part0.m3u8", "",
        ]
        try folder.write(Array(master.joined(separator: "\n").utf8), to: "film.m3u8")
    }

    private struct Reading {
        /// The losses, and the end of the samples before each.
        var losses: [(error: MediaError, place: Double)] = []
        var starts: [Double] = []
        var end = 0.0
        /// The first timestamp after the first loss.
        var resumed: Double?
    }

    /// Reads several tracks to their ends, one after the other.
    private func read(_ film: MediaFile, _ kinds: Track.Kind...) throws -> [Reading] {
        // Creates all readers before the first read: they may share one input.
        try kinds.map { try film.reader(for: try #require(film.summary.track($0))) }.map(read)
    }

    private func read(_ reader: any SampleSource) throws -> Reading {
        var reading = Reading()
        while true {
            do throws(MediaError) {
                guard let buffer = try reader.read() else { return reading }
                guard let start = buffer.presentationTime?.seconds else { continue }
                // A demuxer of transport streams may still hold the last frame before the loss.
                if let place = reading.losses.first?.place, start > place + 0.2 {
                    reading.resumed = min(reading.resumed ?? start, start)
                }
                reading.starts.append(start)
                reading.end = max(reading.end, buffer.end?.seconds ?? start)
            } catch {
                try #require(error.isRecoverable, "\(error.message)")
                reading.losses.append((error, reading.end))
            }
        }
    }

    private func expectOneLoss(
        _ reading: Reading, from start: Double, to end: Double, of seconds: Double, _ cause: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let loss = try #require(reading.losses.first, sourceLocation: sourceLocation)
        #expect(reading.losses.count == 1 && loss.error.code == .lostSegment, sourceLocation: sourceLocation)
        #expect(loss.error.message.contains(cause), "\(loss.error.message)", sourceLocation: sourceLocation)
        #expect(!loss.error.message.contains("secret"), sourceLocation: sourceLocation)
        #expect(abs(loss.place - start) < 0.4, "lost at \(loss.place)", sourceLocation: sourceLocation)
        let resumed = try #require(reading.resumed, sourceLocation: sourceLocation)
        #expect(abs(resumed - end) < 0.4, "resumed at \(resumed)", sourceLocation: sourceLocation)
        #expect(abs(reading.end - seconds) < 0.4, "ended at \(reading.end)", sourceLocation: sourceLocation)
    }

    @Test(arguments: ["-hls_segment_type mpegts", "-hls_segment_type fmp4"], [true, false])
    func readingContinuesAfterASegmentThatIsMissing(_ type: String, _ isServed: Bool) throws {
        try make("-c copy -f hls -hls_time 1 -hls_playlist_type vod \(type)", into: "film.m3u8")
        try change(segment: 2, of: "film.m3u8") { _ in isServed ? "gone.ts?key=secret" : "gone.ts" }
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let film = try MediaFile.open(isServed ? server.url("film.m3u8") : folder.path("film.m3u8"))
        #expect(film.summary.isDurationStated)
        let cause = isServed ? "the server has no \"\(server.url("gone.ts"))\" (404)" : "there is no "
        for reading in try read(film, .video, .audio) { try expectOneLoss(reading, from: 2, to: 3, of: 6, cause) }
    }

    /// A track with a separate playlist has a gap, and stays synchronized with the other.
    @Test(arguments: [(1, 6), (12, 36)]) func oneTrackHasAHoleAndKeepsItsTime(length: Int, seconds: Int) throws {
        try makeApart("-hls_time \(length)", seconds: seconds)
        try change(segment: 1, of: "part0.m3u8") { _ in "gone.ts" }
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let film = try MediaFile.open(server.url("film.m3u8"))
        #expect(!film.summary.sharesReader && film.summary.isDurationStated)
        let readings = try read(film, .audio, .video)
        #expect(readings[0].losses.isEmpty && abs(readings[0].end - Double(seconds)) < 0.4)
        try expectOneLoss(readings[1], from: Double(length), to: Double(2 * length), of: Double(seconds), "(404)")
    }

    @Test func theFirstSegmentAndTheLastAreLostAsWell() throws {
        for (number, place) in [(0, 0.0), (5, 5)] {
            try make("-c copy -f hls -hls_time 1 -hls_playlist_type vod", into: "film.m3u8")
            try change(segment: number, of: "film.m3u8") { _ in "gone.ts" }
            let server = try TinyWebServer(serving: folder.path)
            defer { server.stop() }
            let film = try MediaFile.open(server.url("film.m3u8"))
            let reading = try read(film, .audio)[0]
            #expect(reading.losses.count == 1, "segment \(number)")
            #expect(abs(try #require(reading.losses.first).place - place) < 0.4)
        }
    }

    @Test(arguments: [("short", "ends prematurely"), ("faulty", "has an internal error")])
    func readingContinuesAfterASegmentThatIsCutShort(manner: String, cause: String) throws {
        try make("-c copy -f hls -hls_time 1 -hls_playlist_type vod", into: "film.m3u8")
        try change(segment: 2, of: "film.m3u8") { "\(manner)/\($0)" }
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        var options = ReadOptions()
        options.readAheadTime = .zero
        options.reconnectDelays = [.zero]
        let film = try MediaFile.open(server.url("film.m3u8"), options: options)
        let reading = try read(film, .video)[0]
        let loss = try #require(reading.losses.first)
        #expect(reading.losses.count == 1 && loss.error.message.contains(cause), "\(loss.error.message)")
        #expect(loss.place > 1.9 && loss.place < 3)
        #expect(abs(reading.end - 6) < 0.4)
    }

    /// Missing segments of a variant that is not played have no effect.
    @Test func segmentsOfAnotherQualityAreNoLoss() throws {
        for name in ["low", "high"] {
            try make("-c copy -f hls -hls_time 1 -hls_playlist_type vod", into: "\(name).m3u8")
        }
        for number in 0..<6 { try change(segment: number, of: "low.m3u8") { number == 0 ? "gone.ts" : $0 } }
        let master = [
            "#EXTM3U", "#EXT-X-STREAM-INF:BANDWIDTH=100000", "low.m3u8", "#EXT-X-STREAM-INF:BANDWIDTH=900000",
            "high.m3u8",
            "",
        ]
        try folder.write(Array(master.joined(separator: "\n").utf8), to: "film.m3u8")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let film = try MediaFile.open(server.url("film.m3u8"))
        for reading in try read(film, .video, .audio) { #expect(reading.losses.isEmpty && reading.starts.count > 20) }
    }

    @Test func aSegmentIsFoundByItsWholeAddress() {
        let playlists = FilmPlaylists()
        for (quality, seconds) in [("low", 1.5), ("high", 2.5)] {
            let text =
                "#EXTM3U\n#EXTINF:\(seconds),\n\(quality)/1.ts?a=b/c\n#EXTINF:9,\n/\(quality)/2.ts\n#EXT-X-ENDLIST\n"
            for place in ["http://server/film/\(quality).m3u8", "/films/\(quality).m3u8"] {
                _ = playlists.parse(Array(text.utf8), at: place, from: place)
            }
        }
        func find(_ address: String) -> (playlist: String, duration: MediaTime?)? {
            var budget = WorkBudget(1000)
            return (try? playlists.segment(at: address, &budget)) ?? nil
        }
        let segment = find("http://server/film/high/1.ts?a=b/c")
        #expect(segment?.playlist == "http://server/film/high.m3u8")
        #expect(segment?.duration == MediaTime(value: 5, timescale: 2))
        #expect(find("http://server/low/2.ts")?.playlist == "http://server/film/low.m3u8")
        #expect(find("/films/low/1.ts?a=b/c")?.playlist == "/films/low.m3u8")
        #expect(find("http://server/1.ts") == nil && find("") == nil)
    }

    /// Each segment with the same name is resolved.
    @Test func theSearchForASegmentIsBounded() {
        let lines = (0..<2000).map { "#EXTINF:1,\n\($0)/1.ts" }.joined(separator: "\n")
        let playlists = FilmPlaylists()
        _ = playlists.parse(
            Array("#EXTM3U\n\(lines)\n#EXT-X-ENDLIST\n".utf8), at: "http://a/f.m3u8", from: "http://a/f.m3u8")
        var budget = WorkBudget(100_000)
        #expect(throws: WorkBudget.Exceeded.limit) { try playlists.segment(at: "http://a/other/1.ts", &budget) }
        budget = WorkBudget(1_000_000) { true }
        #expect(throws: WorkBudget.Exceeded.cancelled) { try playlists.segment(at: "http://a/other/1.ts", &budget) }
    }

    @Test func aDurationIsStatedByAPlaylistThatHasEndedAndDoesNotRound() throws {
        try make("-c copy -f hls -hls_time 1 -hls_playlist_type vod", into: "film.m3u8")
        let all = try lines(of: "film.m3u8")
        #expect(try MediaFile.open(folder.path("film.m3u8")).summary.isDurationStated)
        let rounded = all.map { $0.hasPrefix("#EXTINF:") ? "#EXTINF:1," : $0 }
        try folder.write(Array((rounded + [""]).joined(separator: "\n").utf8), to: "rounded.m3u8")
        #expect(try !MediaFile.open(folder.path("rounded.m3u8")).summary.isDurationStated)
        let live = all.filter { $0 != "#EXT-X-ENDLIST" && !$0.hasPrefix("#EXT-X-PLAYLIST-TYPE") }
        try folder.write(Array((live + [""]).joined(separator: "\n").utf8), to: "live.m3u8")
        #expect(try !MediaFile.open(folder.path("live.m3u8")).summary.isDurationStated)
    }
}
