import Glibc
import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

/// Playlists with variants and renditions, live playlists, and DASH manifests, from a local server.
@Suite struct HLSTests {
    private let folder = TemporaryFolder()

    private func make(_ words: String, into name: String, seconds: Int = 6) throws {
        let film = try TestClips.flashAndBeep("hls-source.mkv", "-c:v libx264 -g 25 -c:a aac", seconds: 8)
        let words = words.split(separator: " ").map { String($0).replacing("~", with: " ") }
        try TestClips.make(name, in: folder.path, ["-i", film, "-t", "\(seconds)"] + words)
    }

    private func list(_ name: String, _ lines: [String]) throws {
        try folder.write(Array((["#EXTM3U"] + lines + [""]).joined(separator: "\n").utf8), to: name)
    }

    /// Creates a film whose video and audio have separate playlists.
    private func apart() throws {
        try make(
            "-map 0:v -map 0:a -c copy -f hls -hls_time 1 -hls_playlist_type vod -var_stream_map v:0,agroup:s~a:0,agroup:s",
            into: "part%v.m3u8")
        try list(
            "apart.m3u8",
            [
                "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"s\",NAME=\"x\",DEFAULT=YES,URI=\"part1.m3u8\"",
                "#EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"s\"", "part0.m3u8",
            ])
    }

    @Test func subtitlesWithAPlaylistOfTheirOwnAreKnownToBeMissing() throws {
        try apart()
        try list(
            "words.m3u8",
            [
                "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"s\",NAME=\"x\",DEFAULT=YES,URI=\"part1.m3u8\"",
                "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"w\",NAME=\"English\",LANGUAGE=\"en\",URI=\"en.m3u8\"",
                "#EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"s\",SUBTITLES=\"w\"",
                "part0.m3u8",
            ])
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        #expect(try MediaFile.open(server.url("words.m3u8")).summary.hasUnreadSubtitles)
        #expect(try !MediaFile.open(server.url("apart.m3u8")).summary.hasUnreadSubtitles)
    }

    @Test func soundWithAPlaylistOfItsOwnIsReadToItsEndBeforeThePictures() throws {
        try apart()
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let film = try MediaFile.open(server.url("apart.m3u8"))
        #expect(!film.summary.sharesReader && film.summary.isSeekable && !film.summary.isLive)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        let before = server.requestHeads.count
        let heard = try FilmAudio.decode(audio)
        let asked = server.requestHeads.dropFirst(before)
        #expect(asked.count { $0.contains("GET /part0") } == 0, "no picture is fetched for the sound")
        let seen = try FilmFrames.decode(video)
        #expect(server.requestHeads.dropFirst(before + asked.count).count { $0.contains("GET /part1") } == 0)
        for second in 1..<6 {
            let flash = try #require(seen.flashes.first { abs($0.seconds - Double(second)) < 0.3 })
            let beep = try #require(heard.beeps.first { abs($0 - Double(second)) < 0.35 })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        }
        for second in [3.5, 1.5] {
            let target = MediaTime(seconds: second)
            try video.seek(to: target, mode: .exact)
            try audio.seek(to: target, mode: .exact)
            let flash = try #require(try FilmFrames.decode(video, showingFrom: target, limit: 20).flashes.first)
            let beep = try #require(
                try FilmAudio.decode(audio, until: target + MediaTime(value: 1, timescale: 1)).beeps.first {
                    $0 > second
                })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        }
    }

    @Test(arguments: ["", ".jpg", ".css", ".mp666"])
    func segmentsMayHaveAnyFileNameExtension(_ ending: String) throws {
        try make("-c copy -f hls -hls_time 2 -hls_playlist_type vod", into: "film.m3u8")
        let names = folder.read("film.m3u8").split(separator: "\n").filter { $0.hasSuffix(".ts") }
        for name in names.map(String.init) {
            rename(folder.path(name), folder.path(name.replacing(".ts", with: ending)))
        }
        try folder.write(Array(folder.read("film.m3u8").replacing(".ts", with: ending).utf8), to: "film.m3u8")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        for address in [folder.path("film.m3u8"), server.url("film.m3u8")] {
            let film = try MediaFile.open(address)
            let video = try film.reader(for: try #require(film.summary.track(.video)))
            #expect(try FilmFrames.decode(video).flashes.count >= 5)
        }
    }

    @Test func segmentsOfADASHTemplateNeedNoFileNameExtension() throws {
        try make(
            "-map 0:v -c copy -f dash -seg_duration 2 -init_seg_name init-$RepresentationID$ "
                + "-media_seg_name part-$RepresentationID$-$Number$", into: "film.mpd")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let film = try MediaFile.open(server.url("film.mpd"))
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        #expect(try FilmFrames.decode(video).flashes.count >= 5)
    }

    /// Writes a playlist of two parts of 3 s, each with an init section of its own.
    private func makeTwoInitSections() throws {
        for (name, size, rate) in [("a", "160x90", 48_000), ("b", "320x180", 44_100)] {
            try make(
                "-s \(size) -c:v libx264 -g 25 -c:a aac -ar \(rate) -f hls -hls_time 1 -hls_playlist_type vod "
                    + "-hls_segment_type fmp4 -hls_fmp4_init_filename \(name)-init.mp4",
                into: "\(name).m3u8", seconds: 3)
        }
        let parts = ["a", "b"].map { name in
            folder.read("\(name).m3u8").split(separator: "\n").map(String.init).filter {
                $0.hasPrefix("#EXT-X-MAP") || $0.hasPrefix("#EXTINF") || !$0.hasPrefix("#")
            }
        }
        try list(
            "maps.m3u8",
            ["#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:2", "#EXT-X-PLAYLIST-TYPE:VOD"] + parts[0]
                + ["#EXT-X-DISCONTINUITY"] + parts[1] + ["#EXT-X-ENDLIST"])
    }

    /// The second part was opened while the streams of the first were inspected, which freed them.
    @Test func aPartWithoutPacketsDoesNotEndTheInspectionOfItsTracks() throws {
        try makeTwoInitSections()
        let segments = folder.read("maps.m3u8").split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
        for name in segments + ["a-init.mp4", "b-init.mp4"] {
            let whole = try TestClips.bytes(of: folder.path(name))
            try folder.write(Array(whole.prefix(whole.count / 2)), to: name)
        }
        do {
            let film = try MediaFile.open(folder.path("maps.m3u8"))
            #expect(!film.summary.tracks.isEmpty)
        } catch { #expect(error.message.contains("maps.m3u8"), "\(error.message)") }
    }

    /// FFmpeg's MP4 demuxer reads the first init section only.
    @Test(arguments: [false, true]) func anotherInitSectionHasItsOwnFormats(isSeekingIntoIt: Bool) throws {
        try makeTwoInitSections()
        let film = try MediaFile.open(folder.path("maps.m3u8"))
        #expect(abs((film.summary.duration?.seconds ?? 0) - 6) < 0.2)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        let start = MediaTime(seconds: isSeekingIntoIt ? 3.5 : 0)
        try video.seek(to: start, mode: .exact)
        try audio.seek(to: start, mode: .exact)
        let seen = try FilmFrames.decode(video, showingFrom: start)
        let heard = try FilmAudio.decode(audio)
        for second in (isSeekingIntoIt ? 4 : 1)..<6 where second != 3 {
            let flash = try #require(seen.flashes.first { abs($0.seconds - Double(second)) < 0.3 })
            let beep = try #require(heard.beeps.first { abs($0 - Double(second)) < 0.35 })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.05)
        }
        #expect(seen.frames.last?.size.height == 180 && seen.decodeErrorCount == 0)
    }

    @Test func theQualityIsTheHighestUnlessAnotherIsWanted() throws {
        for (name, size) in [("low", "160x90"), ("mid", "320x180"), ("high", "640x360")] {
            try make(
                "-s \(size) -c:v libx264 -g 25 -c:a aac -f hls -hls_time 2 -hls_playlist_type vod",
                into: "\(name).m3u8", seconds: 2)
        }
        try list(
            "master.m3u8",
            [
                "#EXT-X-STREAM-INF:BANDWIDTH=500000", "mid.m3u8", "#EXT-X-STREAM-INF:BANDWIDTH=100000", "low.m3u8",
                "#EXT-X-STREAM-INF:BANDWIDTH=2000000", "high.m3u8",
            ])
        for (wanted, height) in [
            (ReadOptions.HLSBitrate.highest, 360), (.lowest, 90), (.first, 180), (.max(600_000), 180), (.max(1), 90),
            (.max(.max), 360),
        ] {
            var options = ReadOptions()
            options.hlsBitrate = wanted
            let film = try MediaFile.open(folder.path("master.m3u8"), options: options)
            let video = try #require(film.summary.track(.video))
            #expect(video.videoFormat?.size.height == height)
            let audio = try #require(film.summary.track(.audio))
            #expect(audio.number == video.number, "its own sound")
            #expect(film.summary.tracks.count == 6, "the others can be chosen")
        }
    }

    /// Returns a server that ends the responses FIRST-LAST for the playlist of segments at half of their length.
    /// "master.m3u8" refers to it.
    private func serverThatCuts(_ responses: String) throws -> TinyWebServer {
        try make("-c copy -f hls -hls_time 1 -hls_playlist_type vod -hls_base_url /", into: "film.m3u8")
        try list("master.m3u8", ["#EXT-X-STREAM-INF:BANDWIDTH=900000", "/cut/\(responses)/film.m3u8"])
        return try TinyWebServer(serving: folder.path)
    }

    /// Without its end a playlist is a live one, which begins three segments before the last.
    @Test(arguments: ["cut/1-1/film.m3u8", "master.m3u8"]) func aPlaylistWhoseTransferBreaksOffIsRequestedAgain(
        _ name: String
    ) throws {
        let server = try serverThatCuts("1-1")
        defer { server.stop() }
        let film = try MediaFile.open(server.url(name))
        #expect(abs(try #require(film.summary.duration).seconds - 6) < 0.1)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        #expect(try #require(try video.read()?.presentationTime).seconds < 0.1)
    }

    @Test(arguments: ["cut/1-9/film.m3u8", "master.m3u8"]) func aPlaylistWhoseTransferAlwaysBreaksOffIsAnError(
        _ name: String
    ) throws {
        let server = try serverThatCuts("1-9")
        defer { server.stop() }
        let error = #expect(throws: MediaError.self) { try MediaFile.open(server.url(name)) }
        #expect(error?.code == .cannotOpen)
        #expect(server.requestHeads.count { $0.contains("film.m3u8") } == 2)
    }

    /// A server that removes old segments: all segments are read, although no playlist contains all of them.
    /// A reload that breaks off is repeated; if that also breaks off, it is reported, and reading continues.
    @Test(arguments: [("", false), ("cut/2-2/", false), ("cut/2-3/", true)])
    func aLivePlaylistThatSlidesIsFollowedToItsEnd(_ manner: String, _ isReported: Bool) throws {
        try make("-c copy -f hls -hls_time 1 -hls_list_size 0 -hls_base_url /", into: "all.m3u8")
        let all = try String(decoding: TestClips.bytes(of: folder.path("all.m3u8")), as: UTF8.self).split(
            separator: "\n"
        ).map(String.init)
        let pieces = all.indices.filter { all[$0].hasPrefix("#EXTINF") }.map { Array(all[$0...$0 + 1]) }
        try #require(pieces.count >= 5)
        func window(_ first: Int, isLast: Bool = false) throws {
            let lines = ["#EXT-X-VERSION:3", "#EXT-X-TARGETDURATION:1", "#EXT-X-MEDIA-SEQUENCE:\(first)"]
            try list(
                "live.m3u8",
                lines + pieces[first..<min(first + 3, pieces.count)].joined() + (isLast ? ["#EXT-X-ENDLIST"] : []))
        }
        try window(0)
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let film = try MediaFile.open(server.url(manner + "live.m3u8"))
        #expect(film.summary.isLive && !film.summary.isSeekable)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        var (seconds, first) = ([Double](), 0)
        var errors: [MediaError] = []
        func next() throws -> SampleBuffer? {
            do throws(MediaError) { return try video.read() } catch {
                errors.append(error)
                guard error.isRecoverable else { throw error }
                return try next()
            }
        }
        while let buffer = try next() {
            if let time = buffer.presentationTime { seconds.append(time.seconds) }
            // The next segment is announced while the one before it is read.
            let wanted = min(pieces.count - 3, max(0, Int(seconds.last ?? 0) - 1))
            if wanted > first {
                first = wanted
                try window(first, isLast: first == pieces.count - 3)
            }
        }
        #expect(seconds.count >= 145, "\(seconds.count) pictures")
        #expect(errors.isEmpty != isReported, "\(errors.map(\.message))")
        for (one, next) in zip(seconds.sorted(), seconds.sorted().dropFirst()) {
            #expect(next - one < 0.1, "a piece is missing")
        }
    }

    /// Seeks forward and back, to the start and to a segment's start; the flash and the beep of a second stay together,
    /// at their second.
    private func winds(_ film: MediaFile) throws {
        #expect(film.summary.isSeekable && !film.summary.isLive)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        for (second, mode) in [
            (3.5, SeekMode.exact), (1.5, .exact), (0, .exact), (4, .syncBefore), (4.5, .exact), (0.5, .exact),
        ] {
            let target = MediaTime(seconds: second)
            let landed = try #require(try video.seek(to: target, mode: mode))
            #expect(landed.seconds < second + 0.05 && landed.seconds > second - 1.3, "\(landed.seconds) for \(second)")
            try audio.seek(to: target, mode: mode)
            let seen = try FilmFrames.decode(video, showingFrom: target, limit: 40)
            let flash = try #require(seen.flashes.first { $0.seconds > second + 0.2 })
            let heard = try FilmAudio.decode(audio, until: target + MediaTime(value: 3, timescale: 2))
            let beep = try #require(heard.beeps.first { $0 > second + 0.2 })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001, "\(beep) and \(flash.seconds) behind \(second)")
            #expect(abs(flash.seconds - flash.seconds.rounded()) < 0.3)
        }
        let last = try #require(try video.seek(to: MediaTime(seconds: 99), mode: .syncBefore))
        #expect(last.seconds > 4)
        #expect(try video.seek(to: MediaTime(seconds: 2.5), mode: .syncAfter)?.seconds ?? 0 >= 2.5)
    }

    @Test(arguments: [true, false]) func seeksInMP4SegmentsAreExact(_ isServed: Bool) throws {
        try make(
            "-map 0:v -map 0:a -c copy -f hls -hls_time 1 -hls_playlist_type vod -hls_segment_type fmp4 -hls_fmp4_init_filename i%v.mp4 -var_stream_map v:0,agroup:s~a:0,agroup:s",
            into: "part%v.m3u8")
        try make(
            "-s 160x90 -an -c:v libx264 -g 25 -f hls -hls_time 1 -hls_playlist_type vod -hls_segment_type fmp4 -hls_fmp4_init_filename low.mp4",
            into: "low.m3u8")
        try list(
            "apart.m3u8",
            [
                "#EXT-X-STREAM-INF:BANDWIDTH=100000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"s\"", "low.m3u8",
                "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"s\",NAME=\"x\",DEFAULT=YES,URI=\"part1.m3u8\"",
                "#EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"s\"", "part0.m3u8",
            ])
        guard isServed else { return try winds(MediaFile.open(folder.path("apart.m3u8"))) }
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let film = try MediaFile.open(server.url("apart.m3u8"))
        try winds(film)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let before = server.requests
        try video.seek(to: MediaTime(seconds: 3.2), mode: .exact)
        _ = try video.read()
        #expect(server.requests - before <= 4, "a jump asks for the beginning and the piece, and no playlist")
    }

    @Test func muxedMP4SegmentsAreSeekable() throws {
        try make(
            "-c copy -f hls -hls_time 1 -hls_playlist_type vod -hls_segment_type fmp4 -hls_flags single_file",
            into: "both.m3u8")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let film = try MediaFile.open(server.url("both.m3u8"))
        #expect(film.summary.sharesReader && film.summary.isSeekable)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        for second in [3.5, 1.5, 0.5, 4.5] {
            let target = MediaTime(seconds: second)
            try video.seek(to: target, mode: .exact)
            try audio.seek(to: target, mode: .exact)
            let flash = try #require(try FilmFrames.decode(video, showingFrom: target, limit: 20).flashes.first)
            let heard = try FilmAudio.decode(audio, until: target + MediaTime(value: 1, timescale: 1))
            let beep = try #require(heard.beeps.first { $0 > second })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        }
    }

    /// Two encodings joined by a server, whose timestamps restart: both are on the film's timeline, even if the second
    /// one is read first.
    @Test func aBreakInPiecesOfMP4KeepsTheFilmsTime() throws {
        for name in ["one", "two"] {
            try make(
                "-map 0:v -map 0:a -c copy -f hls -hls_time 1 -hls_playlist_type vod -hls_segment_type fmp4 -hls_fmp4_init_filename \(name)i%v.mp4 -var_stream_map v:0,agroup:s~a:0,agroup:s",
                into: "\(name)%v.m3u8", seconds: 4)
        }
        for track in 0...1 {
            let parts = try ["one", "two"].map { name in
                try String(decoding: TestClips.bytes(of: folder.path("\(name)\(track).m3u8")), as: UTF8.self).split(
                    separator: "\n"
                ).map(String.init).filter {
                    $0.hasPrefix("#EXTINF") || $0.hasPrefix("#EXT-X-MAP") || !$0.hasPrefix("#")
                }
            }
            try list(
                "joined\(track).m3u8",
                ["#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:2", "#EXT-X-PLAYLIST-TYPE:VOD"] + parts[0]
                    + ["#EXT-X-DISCONTINUITY"] + parts[1] + ["#EXT-X-ENDLIST"])
        }
        try list(
            "joined.m3u8",
            [
                "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"s\",NAME=\"x\",DEFAULT=YES,URI=\"joined1.m3u8\"",
                "#EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"s\"", "joined0.m3u8",
            ])
        let film = try MediaFile.open(folder.path("joined.m3u8"))
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        for second in [6.5, 1.5, 5.5] {
            let target = MediaTime(seconds: second)
            try video.seek(to: target, mode: .exact)
            try audio.seek(to: target, mode: .exact)
            let flash = try #require(try FilmFrames.decode(video, showingFrom: target, limit: 20).flashes.first)
            let heard = try FilmAudio.decode(audio, until: target + MediaTime(value: 1, timescale: 1))
            let beep = try #require(heard.beeps.first { $0 > second })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
            #expect(abs(flash.seconds - (second + 0.5)) < 0.3)
        }
    }

    @Test(arguments: ["", "-single_file 1", "-use_template 0", "-use_timeline 0"])
    func aDASHManifestIsPlayedAndSeekable(_ manner: String) throws {
        try make("-c copy -f dash -seg_duration 1 \(manner)", into: "film.mpd")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        var options = ReadOptions()
        options.headerFields = try HeaderField.list(parsing: "X-Key: mine")
        let film = try MediaFile.open(server.url("moved/film.mpd"), options: options)
        #expect(film.summary.container == "dash" && !film.summary.sharesReader)
        #expect(abs(try #require(film.summary.duration).seconds - 6) < 0.2)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        let (seen, heard) = (try FilmFrames.decode(video), try FilmAudio.decode(audio))
        for second in 1..<6 {
            let flash = try #require(seen.flashes.first { abs($0.seconds - Double(second)) < 0.3 })
            let beep = try #require(heard.beeps.first { abs($0 - Double(second)) < 0.35 })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        }
        try winds(film)
        #expect(server.requestHeads.allSatisfy { $0.contains("X-Key: mine") })
        #expect(
            server.requestHeads.count { $0.contains("film.mpd") } == 2, "asked for once, and once for where it leads")
    }

    @Test(arguments: ["file:///tmp/", "ftp://127.0.0.1/", "file:/"]) func aManifestOfDASHReachesWebServersOnly(
        _ base: String
    ) throws {
        try make("-c copy -f dash -seg_duration 1", into: "film.mpd")
        let text = try String(decoding: TestClips.bytes(of: folder.path("film.mpd")), as: UTF8.self)
        try folder.write(
            Array(text.replacing("<Period ", with: "<BaseURL>\(base)</BaseURL><Period ").utf8), to: "thief.mpd")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let error = #expect(throws: MediaError.self) { try MediaFile.open(server.url("thief.mpd")) }
        #expect(error?.message.contains("not on web servers") == true)
        // A local manifest is not passed to libavformat's demuxer either, which opens files without restriction.
        #expect(throws: MediaError.self) { try MediaFile.open(folder.path("thief.mpd")) }
    }
}
