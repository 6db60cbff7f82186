import Glibc
import MediaCore
import TalkieTestKit
import Testing

@testable import MediaFiles

@Suite struct NetworkTests {
    private func server() throws -> TinyWebServer { try TinyWebServer(serving: TestClips.folder) }

    private func clip() throws -> String {
        try TestClips.flashAndBeep("net.mp4", "-c:v libx264 -g 25 -c:a aac -movflags +faststart", seconds: 6)
    }

    private func name(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }

    private func failure(_ url: String, _ options: ReadOptions = ReadOptions()) -> (error: MediaError?, took: Duration)
    {
        let start = HostInstant.now
        do throws(MediaError) {
            _ = try MediaFile.open(url, options: options)
            return (nil, .now - start)
        } catch { return (error, .now - start) }
    }

    /// Reads both tracks in parallel, as a player does, and compares flashes and beeps.
    private func expectTogether(_ film: MediaFile, seconds: Range<Int>) throws {
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        let sound = Lock<FilmAudio?>(nil)
        let worker = try! WorkerThread.start(name: "ears") {
            let heard = try? FilmAudio.decode(audio)
            sound.withLock { $0 = heard }
        }
        let pictures = try FilmFrames.decode(video)
        worker.join()
        let heard = try #require(sound.withLock { $0 })
        for second in seconds {
            let flash = try #require(pictures.flashes.first { abs($0.seconds - Double(second)) < 0.3 })
            let beep = try #require(heard.beeps.first { abs($0 - Double(second)) < 0.35 })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        }
    }

    @Test func aServerThatKnowsRangesGivesEachTrackAReaderOfItsOwn() throws {
        let server = try server()
        defer { server.stop() }
        let film = try MediaFile.open(server.url(name(try clip())))
        #expect(!film.summary.sharesReader && film.summary.isSeekable && !film.summary.isLive)
        try expectTogether(film, seconds: 1..<6)
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        try reader.seek(to: MediaTime(seconds: 3.5), mode: .exact)
        let seen = try FilmFrames.decode(reader, showingFrom: MediaTime(seconds: 3.5))
        #expect(seen.flashes.map { $0.seconds.rounded() } == [4, 5])
    }

    /// Counts what a reader receives. The system's buffers contain up to megabytes more, which a server has also sent.
    private final class CountingConnection: WebConnection {
        private let connection: any WebConnection
        private let byteCount: Lock<Int>

        init(_ connection: any WebConnection, _ byteCount: Lock<Int>) {
            (self.connection, self.byteCount) = (connection, byteCount)
        }

        func send(_ bytes: [UInt8]) -> Int32 { connection.send(bytes) }

        func receive(_ target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
            let got = connection.receive(target)
            byteCount.withLock { $0 += max(0, Int(got)) }
            return got
        }

        func setMaxSilence(_ duration: Duration?) { connection.setMaxSilence(duration) }
    }

    /// Opens a film, and returns a function that returns the number of bytes received for it.
    private func openCounting(_ url: String) throws -> (film: MediaFile, received: () -> Int) {
        let byteCount = Lock(0)
        var options = ReadOptions()
        options.readAheadTime = .zero
        options.connect = { (address, waiting) throws(WebFailure) in
            CountingConnection(try NetworkConnection(address, .system, waiting), byteCount)
        }
        return (try MediaFile.open(url, options: options), { byteCount.withLock { $0 } })
    }

    /// A film of 50 s with subtitles, whose audio is read eight seconds ahead of its video.
    @Test(arguments: ["mkv", "mp4"]) func aFilmIsFetchedOnceForAllItsReaders(_ ending: String) throws {
        let server = try server()
        defer { server.stop() }
        let cues = (10..<50).map { "\($0)\n00:00:\($0),000 --> 00:00:\($0),900\nline\n" }.joined(separator: "\n")
        let words = try TestClips.make("once.srt", of: Array(cues.utf8))
        let path = try TestClips.make(
            "once.\(ending)",
            [
                "-f", "lavfi", "-i", "testsrc=s=320x180:r=25:d=50,noise=alls=40:allf=t",
                "-f", "lavfi", "-i", "sine=d=50", "-i", words, "-c:v", "mpeg4", "-b:v", "3M", "-maxrate", "3M",
                "-bufsize", "1M", "-g", "25", "-c:a", "aac", "-c:s", ending == "mp4" ? "mov_text" : "srt",
            ])
        let size = try TestClips.bytes(of: path).count
        let (film, received) = try openCounting(server.url(name(path)))
        #expect(!film.summary.sharesReader)
        let readers = try [Track.Kind.audio, .video, .subtitle].map { kind in
            try film.reader(for: try #require(film.summary.track(kind)))
        }
        var ends = [MediaTime](repeating: .zero, count: 3)
        /// Reads every track up to a time, the audio further.
        func read(until seconds: Int) throws {
            for (index, reader) in readers.enumerated() {
                let end = MediaTime(value: Int64(index == 0 ? seconds + 8 : seconds), timescale: 1)
                while ends[index] < end, let buffer = try reader.read() {
                    ends[index] = max(ends[index], buffer.presentationTime ?? .zero)
                }
            }
        }
        for seconds in 1...15 { try read(until: seconds) }
        #expect(received() < size * 6 / 10, "\(received()) of \(size)")
        // Continues from there to the end.
        for reader in readers { try reader.seek(to: MediaTime(value: 30, timescale: 1), mode: .exact) }
        for seconds in 30...50 { try read(until: seconds) }
        #expect(received() < size * 11 / 10, "\(received()) of \(size), \(server.requests) requests")
    }

    @Test func aServerWithoutRangesIsReadOnceForAllTracks() throws {
        let server = try server()
        defer { server.stop() }
        let film = try MediaFile.open(server.url("whole/" + name(try clip())))
        #expect(film.summary.sharesReader)
        try expectTogether(film, seconds: 1..<6)
    }

    /// Matroska's cues index the video only: libavformat seeks an audio track by reading everything up to the target.
    @Test func aSeekOfMatroskaSoundReadsNothingOfTheFilmBetween() throws {
        let path = try TestClips.make(
            "noise.mkv",
            [
                "-f", "lavfi", "-i", "color=c=gray:s=320x240:r=25:d=24,noise=alls=60:allf=t", "-f", "lavfi", "-i",
                "sine=d=24", "-c:v", "mpeg4", "-q:v", "2", "-g", "25", "-c:a", "aac",
            ])
        let server = try server()
        defer { server.stop() }
        let (film, received) = try openCounting(server.url(name(path)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        _ = try audio.read()
        let before = received()
        let target = MediaTime(value: 20, timescale: 1)
        try audio.seek(to: target, mode: .exact)
        let start = try #require(try audio.read()?.presentationTime)
        #expect(start <= target && target - start < MediaTime(value: 2, timescale: 1), "\(start)")
        let size = try TestClips.bytes(of: path).count
        #expect(received() - before < size / 3, "\(received() - before) of \(size) bytes")
    }

    /// `python3 -m http.server` is such a server.
    @Test func aFilmOfAServerWithoutRangesSeeksForwardAndBack() throws {
        let server = try server()
        defer { server.stop() }
        let film = try MediaFile.open(server.url("whole/" + name(try clip())))
        #expect(film.summary.isSeekable && !film.summary.isLive)
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        // To the start, where the reader is; forward; back; to data just read; forward.
        for second in [0, 3.5, 1.5, 1.5, 4.5] {
            let target = MediaTime(seconds: second)
            try video.seek(to: target, mode: .exact)
            try audio.seek(to: target, mode: .exact)
            let seen = try FilmFrames.decode(video, showingFrom: target, limit: 40)
            let heard = try FilmAudio.decode(audio, until: target + MediaTime(value: 16, timescale: 10))
            let first = try #require(seen.frames.first)
            #expect(
                first.start <= target + MediaTime(value: 1, timescale: 1000) && first.start + first.duration > target)
            let flash = try #require(seen.flashes.first { $0.seconds > second + 0.1 })
            let beep = try #require(heard.beeps.first { $0 > second + 0.1 })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        }
        // The seek to the start and seeks forward need no request.
        #expect(server.requests == 3)
    }

    /// A connection that is broken off while its server is away.
    private final class UnreliableConnection: WebConnection {
        private let connection: any WebConnection
        private let isAway: Lock<Bool>

        init(_ connection: any WebConnection, _ isAway: Lock<Bool>) {
            (self.connection, self.isAway) = (connection, isAway)
        }

        func send(_ bytes: [UInt8]) -> Int32 { isAway.withLock { $0 } ? -ECONNRESET : connection.send(bytes) }

        func receive(_ target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
            isAway.withLock { $0 } ? -ECONNRESET : connection.receive(target)
        }

        func setMaxSilence(_ duration: Duration?) { connection.setMaxSilence(duration) }
    }

    private func unreliable(_ isAway: Lock<Bool>) -> ReadOptions {
        var options = ReadOptions()
        options.connect = { (address, waiting) throws(WebFailure) in
            guard !isAway.withLock({ $0 }) else { throw WebFailure(code: -ECONNREFUSED) }
            return UnreliableConnection(try NetworkConnection(address, .system, waiting), isAway)
        }
        return options
    }

    /// Waits until a condition is true; returns false after 20 s.
    private func wait(_ isTrue: () -> Bool) -> Bool {
        let end = HostInstant.now.advanced(by: .seconds(20))
        while !isTrue() {
            if HostInstant.now > end { return false }
            HostInstant.now.advanced(by: .milliseconds(10)).sleep()
        }
        return true
    }

    /// Reads each track up to a time.
    private func read(_ readers: [any SampleSource], until seconds: Int) throws {
        let end = MediaTime(value: Int64(seconds), timescale: 1)
        for reader in readers {
            while let buffer = try reader.read(), (buffer.presentationTime ?? .zero) < end {}
        }
    }

    /// Two minutes of film, whose server is away in the middle: each track is read on from memory.
    @Test(arguments: ["mkv", "mp4", "ts"]) func aFilmReadAheadGoesOnWithoutItsServer(_ ending: String) throws {
        let path = try TestClips.make(
            "ahead.\(ending)",
            [
                "-f", "lavfi", "-i", "testsrc=s=320x180:r=25:d=120", "-f", "lavfi", "-i", "sine=d=120", "-c:v", "mpeg4",
                "-b:v", "500k", "-g", "25", "-c:a", "aac", "-shortest",
            ])
        let (server, isAway) = (try server(), Lock(false))
        defer { server.stop() }
        let film = try MediaFile.open(server.url(name(path)), options: unreliable(isAway))
        let readers = try [Track.Kind.audio, .video].map { try film.reader(for: try #require(film.summary.track($0))) }
        // libavformat reads the index of Matroska, at the end of the file, for the first seek.
        for reader in readers { try reader.seek(to: MediaTime(value: 1, timescale: 1), mode: .exact) }
        try read(readers, until: 2)
        #expect(wait { film.readAhead?.duration ?? .zero > .seconds(60) }, "\(String(describing: film.readAhead))")
        isAway.withLock { $0 = true }
        let requests = server.requests
        try read(readers, until: 50)
        for reader in readers { try reader.seek(to: MediaTime(value: 20, timescale: 1), mode: .exact) }
        try read(readers, until: 40)
        #expect(film.lostServer == nil && server.requests == requests)
        isAway.withLock { $0 = false }
        try read(readers, until: 200)
    }

    @Test func aLocalFilmIsNotReadAhead() throws {
        let film = try MediaFile.open(try clip())
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        while try reader.read() != nil {}
        #expect(film.readAhead == nil)
    }

    @Test func anAddressThatMovedIsFollowed() throws {
        let server = try server()
        defer { server.stop() }
        let film = try MediaFile.open(server.url("moved/" + name(try clip())))
        #expect(film.summary.tracks.count == 2)
    }

    @Test func anAddressThatIsNotThere() throws {
        let server = try server()
        defer { server.stop() }
        let error = try #require(failure(server.url("nothing.mp4")).error)
        #expect(error.code == .cannotOpen && error.message.contains("404"))
    }

    @Test func anAddressThatSendsInACircle() throws {
        let server = try server()
        defer { server.stop() }
        let (error, took) = failure(server.url("circle"))
        #expect(try #require(error).code == .cannotOpen)
        #expect(took < .seconds(10))
        #expect(server.requests < 50)
    }

    @Test func aServerThatIsNotThere() throws {
        // No other test can listen on it meanwhile.
        let port = try ReservedPort()
        let error = try #require(failure("http://127.0.0.1:\(port.number)/film.mp4").error)
        #expect(error.code == .cannotOpen || error.code == .timedOut)
    }

    @Test(arguments: ["silent", "stall/"]) func aStalledAddressTimesOut(_ manner: String) throws {
        let server = try server()
        defer { server.stop() }
        var options = ReadOptions()
        options.openTimeout = .milliseconds(600)
        let path = manner.hasSuffix("/") ? manner + name(try clip()) : manner
        let (error, took) = failure(server.url(path), options)
        #expect(try #require(error).code == .timedOut)
        #expect(took < .seconds(10))
    }

    @Test func aFilmThatStallsDuringPlaybackTimesOut() throws {
        let server = try server()
        defer { server.stop() }
        var options = ReadOptions()
        // Longer than the server's thread waits for a processor.
        options.readTimeout = .seconds(2)
        let film = try MediaFile.open(server.url("half/" + name(try clip())), options: options)
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        var packets = 0
        let error = #expect(throws: MediaError.self) { while try reader.read() != nil { packets += 1 } }
        #expect(error?.code == .timedOut)
        #expect(packets > 30)
    }

    @Test func aBrokenConnectionIsResumed() throws {
        let server = try server()
        defer { server.stop() }
        let film = try MediaFile.open(server.url("drop/" + name(try clip())))
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        #expect(try FilmFrames.decode(reader).frames.count > 140)
    }

    @Test func cancellingEndsAWaitAtOnce() throws {
        let server = try server()
        defer { server.stop() }
        let cancellation = Cancellation()
        let url = server.url("silent")
        let code = Lock<MediaError.Code?>(nil)
        let worker = try! WorkerThread.start(name: "opener") {
            do throws(MediaError) { _ = try MediaFile.open(url, cancellation: cancellation) } catch {
                code.withLock { $0 = error.code }
            }
        }
        try #require(server.waitForRequest(until: .now.advanced(by: .seconds(20))))
        let start = HostInstant.now
        cancellation.cancel()
        worker.join()
        #expect(code.withLock { $0 } == .cancelled)
        // The server is silent, and the timeout is 15 s.
        #expect(HostInstant.now - start < .seconds(10))
    }

    // MARK: HLS

    /// Creates a playlist with segments from the same film; returns its path relative to the server's folder.
    private func playlist(_ codecs: String, _ kind: String, segment: Int = 2) throws -> String {
        let film = try TestClips.flashAndBeep("hls-\(kind).mkv", codecs, seconds: 8)
        let folder = try TestClips.makeFolder(
            of: "list.m3u8",
            ["-i", film, "-c", "copy", "-f", "hls", "-hls_time", "\(segment)", "-hls_playlist_type", "vod"]
                + (kind == "fmp4" ? ["-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", "hls-init.mp4"] : []))
        return name(folder) + "/list.m3u8"
    }

    @Test(arguments: ["ts", "fmp4"]) func aPlaylistOfSegmentsPlaysAndStaysTogether(_ kind: String) throws {
        let server = try server()
        defer { server.stop() }
        let name = try playlist("-c:v libx264 -g 25 -c:a aac", kind)
        for url in [server.url(name), TestClips.folder + "/" + name] {
            let film = try MediaFile.open(url)
            #expect(film.summary.sharesReader && !film.summary.isLive)
            #expect(film.summary.isSeekable)
            #expect(abs(try #require(film.summary.duration).seconds - 8) < 0.2)
            try expectTogether(film, seconds: 1..<8)
        }
    }

    /// A film of one segment was silent after a seek to its start, with which every playback starts, and reading did
    /// not end.
    @Test(arguments: [2, 60], ["ts", "fmp4"]) func aPlaylistCanBeSoughtToItsVeryStart(_ segment: Int, _ kind: String)
        throws
    {
        let server = try server()
        defer { server.stop() }
        let name = try playlist("-c:v libx264 -g 25 -c:a aac", kind, segment: segment)
        for order in [[Track.Kind.audio, .video], [.video, .audio], [.audio], [.video]] {
            let film = try MediaFile.open(server.url(name))
            let readers = try order.map { try film.reader(for: try #require(film.summary.track($0))) }
            for _ in 0..<2 {
                for reader in readers { try reader.seek(to: .zero, mode: .exact) }
                for reader in readers {
                    let first = try #require(try reader.read()?.presentationTime)
                    #expect(abs(first.seconds) < 0.1)
                }
            }
        }
    }

    /// libavformat recognises a playlist with another extension only by its content type.
    @Test func aPlaylistIsKnownByItsTypeWhateverItsName() throws {
        let server = try server()
        defer { server.stop() }
        let name = try playlist("-c:v libx264 -g 25 -c:a aac", "ts")
        // Next to its segments.
        let other = name.replacing("list.m3u8", with: "list.php")
        symlink("list.m3u8", TestClips.folder + "/" + other)
        #expect(
            try MediaFile.open(server.url("typed/application/vnd.apple.mpegurl/\(other)")).summary.container == "hls")
    }

    /// Segments that were fetched are read from memory, of one playlist or of two.
    @Test(arguments: ["ts", "fmp4", "apart"]) func segmentsAreFetchedAhead(_ kind: String) throws {
        let film = try TestClips.make(
            "segments.mkv",
            [
                "-f", "lavfi", "-i", "testsrc=s=320x180:r=25:d=60", "-f", "lavfi", "-i", "sine=d=60", "-c:v", "libx264",
                "-b:v", "500k", "-g", "25", "-c:a", "aac",
            ])
        var options = ["-i", film, "-c", "copy", "-f", "hls", "-hls_time", "2", "-hls_playlist_type", "vod"]
        if kind != "ts" {
            options += [
                "-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", kind == "fmp4" ? "init.mp4" : "init%v.mp4",
            ]
        }
        if kind == "apart" {
            options += ["-map", "0:v", "-map", "0:a", "-var_stream_map", "v:0,agroup:s a:0,agroup:s"]
        }
        let folder = try TestClips.makeFolder(of: kind == "apart" ? "list%v.m3u8" : "list.m3u8", options)
        let (server, isAway) = (try server(), Lock(false))
        defer { server.stop() }
        var address = name(folder) + "/list.m3u8"
        if kind == "apart" {
            let lines = [
                "#EXTM3U",
                "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"s\",NAME=\"x\",DEFAULT=YES,URI=\"\(name(folder))/list1.m3u8\"",
                "#EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"s\"",
                "\(name(folder))/list0.m3u8", "",
            ]
            address = name(try TestClips.make("apart.m3u8", of: Array(lines.joined(separator: "\n").utf8)))
        }
        let opened = try MediaFile.open(server.url(address), options: unreliable(isAway))
        #expect(opened.summary.sharesReader == (kind != "apart"))
        let readers = try [Track.Kind.audio, .video].map {
            try opened.reader(for: try #require(opened.summary.track($0)))
        }
        try read(readers, until: 8)
        #expect(wait { opened.readAhead?.duration ?? .zero > .seconds(25) }, "\(String(describing: opened.readAhead))")
        isAway.withLock { $0 = true }
        try read(readers, until: 30)
        #expect(opened.lostServer == nil)
        isAway.withLock { $0 = false }
        try read(readers, until: 100)
        // Each segment was requested once.
        let wanted = server.requestHeads.compactMap { $0.split(separator: "\r\n").first }.filter {
            $0.contains("list") && !$0.contains(".m3u8")
        }
        #expect(Set(wanted).count >= wanted.count - 4, "\(wanted)")
    }

    @Test func aPlaylistCanBeSought() throws {
        let server = try server()
        defer { server.stop() }
        let film = try MediaFile.open(server.url(try playlist("-c:v libx264 -g 25 -c:a aac", "ts")))
        let video = try film.reader(for: try #require(film.summary.track(.video)))
        let audio = try film.reader(for: try #require(film.summary.track(.audio)))
        for second in [5.5, 1.5, 6.5] {
            let target = MediaTime(seconds: second)
            try video.seek(to: target, mode: .exact)
            try audio.seek(to: target, mode: .exact)
            let seen = try FilmFrames.decode(video, showingFrom: target, limit: 20)
            let heard = try FilmAudio.decode(audio, until: target + MediaTime(value: 8, timescale: 10))
            let first = try #require(seen.frames.first)
            #expect(
                first.start <= target + MediaTime(value: 1, timescale: 1000) && first.start + first.duration > target)
            let flash = try #require(seen.flashes.first)
            let beep = try #require(heard.beeps.first { $0 > second })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        }
    }

    @Test func aPlaylistThatContainsItselfEnds() throws {
        let folder = TemporaryFolder()
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let text = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nself.m3u8\n"
        try folder.write(Array(text.utf8), to: "self.m3u8")
        let media = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nloop.m3u8\n#EXT-X-ENDLIST\n"
        try folder.write(Array(media.utf8), to: "loop.m3u8")
        var options = ReadOptions()
        options.openTimeout = .seconds(2)
        for name in ["self.m3u8", "loop.m3u8"] {
            for url in [server.url(name), folder.path(name)] {
                let (error, took) = failure(url, options)
                #expect(error != nil)
                #expect(took < .seconds(20))
            }
        }
        #expect(server.requests < 1100)
    }

    @Test func aPlaylistFromTheNetworkDoesNotReachLocalFiles() throws {
        let folder = TemporaryFolder()
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let secret = try TestClips.flashAndBeep("secret.ts", "-c:v libx264 -c:a aac")
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\nfile://\(secret)\n#EXT-X-ENDLIST\n"
        try folder.write(Array(text.utf8), to: "thief.m3u8")
        #expect(failure(server.url("thief.m3u8")).error != nil)
    }

    @Test func credentialsOfAnAddressAreInNoSentence() throws {
        let server = try server()
        defer { server.stop() }
        let error = try #require(failure("http://anna:secret@127.0.0.1:\(server.port)/none.mp4").error)
        #expect(error.message.contains("http://…@127.0.0.1") && !error.message.contains("secret"))
    }
}

/// Identification and secrets in requests, checked with real servers.
@Suite struct NetworkIdentityTests {
    /// An encrypted playlist whose key and second segment are on another server.
    @Test func secretsAreForPlaylistsPiecesAndKeysOfTheServerThatWasNamed() throws {
        let folder = TemporaryFolder()
        let (home, other) = (try TinyWebServer(serving: folder.path), try TinyWebServer(serving: folder.path))
        defer {
            home.stop()
            other.stop()
        }
        let film = try TestClips.flashAndBeep("hls-ts.mkv", "-c:v libx264 -g 25 -c:a aac", seconds: 8)
        try folder.write(Array("0123456789abcdef".utf8), to: "film.key")
        try folder.write(Array("film.key\n\(folder.path("film.key"))\n".utf8), to: "info")
        try TestClips.run(
            "ffmpeg",
            [
                "-nostdin", "-v", "error", "-y", "-i", film, "-t", "6", "-c", "copy", "-f", "hls", "-hls_time", "2",
                "-hls_playlist_type", "vod", "-hls_key_info_file", folder.path("info"), folder.path("list.m3u8"),
            ])
        let lines = try String(decoding: TestClips.bytes(of: folder.path("list.m3u8")), as: UTF8.self)
            .replacing("list1.ts", with: "http://localhost:\(other.port)/list1.ts")
            .replacing("list2.ts", with: "/onward/http/\(other.port)/list2.ts")
        try folder.write(Array(lines.utf8), to: "list.m3u8")
        var options = ReadOptions()
        options.userAgent = "Someone"
        options.headerFields = try HeaderField.list(parsing: "Authorization: Bearer me")
        options.cookies = CookieJar()
        let opened = try MediaFile.open(home.url("login/list.m3u8"), options: options)
        let reader = try opened.reader(for: try #require(opened.summary.track(.video)))
        let seen = try FilmFrames.decode(reader)
        #expect(seen.frames.count >= 145, "enciphered pieces are read")
        #expect(home.requestHeads.allSatisfy { $0.contains("Bearer me") && $0.contains("User-Agent: Someone") })
        #expect(home.requestHeads.contains { $0.contains("film.key") })
        #expect(home.requestHeads.dropFirst().allSatisfy { $0.contains("Cookie: pass=given") })
        #expect(other.requestHeads.count >= 2)
        #expect(!other.requestHeads.contains { $0.contains("Bearer") || $0.contains("Cookie") })
    }

    @Test func aBrokenStreamIsResumedAndReportedAfterASecond() throws {
        let server = try TinyWebServer(serving: TestClips.folder)
        defer { server.stop() }
        let clip = try TestClips.flashAndBeep(
            "net.mp4", "-c:v libx264 -g 25 -c:a aac -movflags +faststart", seconds: 6)
        let messages = Lock<[String]>([])
        let (opened, lost) = (Lock<MediaFile?>(nil), Lock<String?>(nil))
        var options = ReadOptions()
        // The thread that reads ahead would resume it unnoticed.
        options.readAheadTime = .zero
        options.onTrouble = { sentence in
            messages.withLock { $0.append(sentence) }
            lost.withLock { $0 = opened.withLock { $0 }?.lostServer }
        }
        let film = try MediaFile.open(
            server.url("faulty/" + String(clip.split(separator: "/").last!)), options: options)
        opened.withLock { $0 = film }
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        #expect(try FilmFrames.decode(reader).frames.count > 140)
        #expect(messages.withLock { $0 } == ["the connection to 127.0.0.1 was lost; reconnecting"])
        #expect(lost.withLock { $0 } == "127.0.0.1" && film.lostServer == nil)
    }

    @Test func aConnectionThatFallsSilentIsReplacedByAnother() throws {
        let server = try TinyWebServer(serving: TestClips.folder)
        defer { server.stop() }
        let clip = try TestClips.flashAndBeep(
            "net.mp4", "-c:v libx264 -g 25 -c:a aac -movflags +faststart", seconds: 6)
        var options = ReadOptions()
        options.maxSilence = .milliseconds(100)
        // Each response stops at half of its stated length, and the connection stays open.
        let film = try MediaFile.open(
            server.url("half/" + String(clip.split(separator: "/").last!)), options: options)
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        #expect(try FilmFrames.decode(reader).frames.count > 140)
        #expect(server.requests > 2)
    }
}
