import Foundation
import Glibc
import MediaCore
import TalkieTestKit
import Testing

@testable import MediaFiles

/// Files and addresses that a playlist may open, in addition to `NetworkTests`.
@Suite struct PlaylistReachTests {
    private let folder = TemporaryFolder()

    private func playlist(_ name: String, _ lines: String...) throws {
        try folder.write(Array((["#EXTM3U"] + lines + [""]).joined(separator: "\n").utf8), to: name)
    }

    /// Opening a pipe can block forever, and opening some devices has side effects.
    @Test(arguments: ["#EXTINF:1,", "#EXT-X-STREAM-INF:BANDWIDTH=1000"])
    func aPlaylistOpensOrdinaryFilesOnly(_ tag: String) throws {
        let pipe = folder.path("pipe.ts")
        try #require(mkfifo(pipe, 0o600) == 0)
        // With both ends open no `open` blocks.
        let held = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(held) }
        let watch = inotify_init1(Int32(IN_NONBLOCK))
        defer { close(watch) }
        try #require(inotify_add_watch(watch, pipe, UInt32(IN_OPEN)) >= 0)
        try playlist("list.m3u8", tag, "pipe.ts", tag, "file:\(pipe)", tag, pipe, tag, "pipe:0", "#EXT-X-ENDLIST")

        let cancellation = Cancellation()
        let done = Signal()
        let path = folder.path("list.m3u8")
        let worker = try WorkerThread.start(name: "opening") {
            _ = try? MediaFile.open(path, cancellation: cancellation)
            done.raise()
        }
        #expect(done.wait(until: .now.advanced(by: .seconds(20))))
        var event = [UInt8](repeating: 0, count: 4096)
        #expect(read(watch, &event, event.count) < 0, "it was opened")
        cancellation.cancel()
        // Unblocks a read, which the expectation above has reported.
        let garbage = [UInt8](repeating: 0, count: 65536)
        _ = write(held, garbage, garbage.count)
        worker.join()
    }

    /// What a list names may be replaced after its kind was checked.
    @Test func aFileThatAPipeReplacesAfterTheCheckIsNotOpened() throws {
        let film = try TestClips.flashAndBeep("reach.ts", "-c:v libx264 -g 25 -c:a aac")
        let (path, pipe) = (folder.path("film.ts"), folder.path("pipe"))
        try folder.write(TestClips.bytes(of: film), to: "film.ts")
        var options = ReadOptions()
        options.opensRegularFilesOnly = true
        #expect(try MediaFile.open(path, options: options).summary.tracks.count == 2)
        let address = try InputAddress(path)
        try #require(mkfifo(pipe, 0o600) == 0 && rename(pipe, path) == 0)
        let watch = inotify_init1(Int32(IN_NONBLOCK))
        defer { close(watch) }
        try #require(inotify_add_watch(watch, path, UInt32(IN_OPEN)) >= 0)
        #expect(throws: MediaError.self) { try DemuxContext(address, options: options, cancellations: []) }
        var event = [UInt8](repeating: 0, count: 4096)
        #expect(read(watch, &event, event.count) < 0, "it was opened")
        // The same where the kind is known in time.
        let error = #expect(throws: MediaError.self) { try MediaFile.open(path, options: options) }
        #expect(error?.code == .notPermitted)
    }

    /// A local playlist that leads to a server's must not lend it the reach of local playlists.
    @Test(arguments: ["segment", "key"]) func aServersPlaylistNamesNoLocalFile(_ kind: String) throws {
        let film = try TestClips.flashAndBeep("reach.ts", "-c:v libx264 -g 25 -c:a aac")
        let secret = try folder.write(TestClips.bytes(of: film), to: "secret.ts")
        try folder.write(TestClips.bytes(of: film), to: "film.ts")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let lines =
            kind == "segment"
            ? ["#EXTINF:4,", "file:\(secret)"]
            : ["#EXT-X-KEY:METHOD=AES-128,URI=\"file:\(secret)\"", "#EXTINF:4,", "film.ts"]
        try playlist("inner.m3u8", (["#EXT-X-TARGETDURATION:4"] + lines + ["#EXT-X-ENDLIST"]).joined(separator: "\n"))
        try playlist("local.m3u8", "#EXT-X-STREAM-INF:BANDWIDTH=9000", server.url("inner.m3u8"))
        let watch = inotify_init1(Int32(IN_NONBLOCK))
        defer { close(watch) }
        try #require(inotify_add_watch(watch, secret, UInt32(IN_OPEN)) >= 0)
        #expect(throws: MediaError.self) { try MediaFile.open(folder.path("local.m3u8")) }
        var event = [UInt8](repeating: 0, count: 4096)
        #expect(read(watch, &event, event.count) < 0, "it was opened")
    }

    /// libavformat opens an address with a colon, but without a scheme, as a file of the working folder.
    @Test(arguments: ["segment", "key", "variant"]) func aNameWithAColonIsNoLocalFileForAServer(_ kind: String) throws {
        let film = try TestClips.flashAndBeep("reach.ts", "-c:v libx264 -g 25 -c:a aac")
        let name = "reach \(getpid()): a \(kind).ts"
        let secret = FileManager.default.currentDirectoryPath + "/" + name
        try Data(TestClips.bytes(of: film)).write(to: URL(filePath: secret))
        defer { unlink(secret) }
        try folder.write(TestClips.bytes(of: film), to: "film.ts")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let lines =
            switch kind {
            case "segment": ["#EXTINF:4,", name]
            case "key": ["#EXT-X-KEY:METHOD=AES-128,URI=\"\(name)\"", "#EXTINF:4,", "film.ts"]
            default: ["#EXT-X-STREAM-INF:BANDWIDTH=9000", name]
            }
        try playlist("list.m3u8", lines.joined(separator: "\n"), "#EXT-X-ENDLIST")
        let watch = inotify_init1(Int32(IN_NONBLOCK))
        defer { close(watch) }
        try #require(inotify_add_watch(watch, secret, UInt32(IN_OPEN)) >= 0)
        #expect(throws: MediaError.self) { try MediaFile.open(server.url("list.m3u8")) }
        var event = [UInt8](repeating: 0, count: 4096)
        #expect(read(watch, &event, event.count) < 0, "it was opened")
    }

    @Test func aColonInAnotherAttributeIsNoPartOfTheAddress() throws {
        let film = try TestClips.flashAndBeep("reach.ts", "-c:v libx264 -g 25 -c:a aac")
        try folder.write(TestClips.bytes(of: film), to: "film.ts")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        try playlist("inner.m3u8", "#EXT-X-TARGETDURATION:4", "#EXTINF:4,", "film.ts", "#EXT-X-ENDLIST")
        try playlist(
            "list.m3u8",
            "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",URI=\"inner.m3u8\",NAME=\"English: commentary\",LANGUAGE=\"en\"",
            "#EXT-X-STREAM-INF:BANDWIDTH=9000,AUDIO=\"a\"", "inner.m3u8")
        #expect(try MediaFile.open(server.url("list.m3u8")).summary.tracks.count >= 2)
    }

    /// FFmpeg 5.1 reads from a demuxer that was never opened.
    @Test(arguments: [
        [], ["#EXTINF:1,"], ["#EXT-X-TARGETDURATION:1", "#EXT-X-ENDLIST"], ["#EXTINF:1,", "#none.ts\r", "\u{0}"],
    ])
    func aPlaylistWithoutSegmentsCostsItsOwnPartOfTheFilmOnly(_ lines: [String]) throws {
        let film = try TestClips.flashAndBeep("reach.ts", "-c:v libx264 -g 25 -c:a aac")
        try playlist("film.m3u8", "#EXT-X-TARGETDURATION:4", "#EXTINF:4,", film, "#EXT-X-ENDLIST")
        try playlist("empty.m3u8", lines.joined(separator: "\n"))
        try playlist(
            "sound.m3u8", "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"x\",URI=\"empty.m3u8\"",
            "#EXT-X-STREAM-INF:BANDWIDTH=9000,AUDIO=\"a\"", "film.m3u8")
        try playlist(
            "picture.m3u8", "#EXT-X-STREAM-INF:BANDWIDTH=9000", "film.m3u8", "#EXT-X-STREAM-INF:BANDWIDTH=99000",
            "empty.m3u8")
        try playlist("nothing.m3u8", "#EXT-X-STREAM-INF:BANDWIDTH=99000", "empty.m3u8")
        try playlist(
            "itself.m3u8", "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"x\",URI=\"itself.m3u8\"",
            "#EXT-X-STREAM-INF:BANDWIDTH=9000,AUDIO=\"a\"", "film.m3u8")
        // A playlist with both segments and playlists is invalid (RFC 8216, section 4.1).
        try playlist("on.m3u8", "#EXT-X-STREAM-INF:BANDWIDTH=1", "empty.m3u8", "#EXTINF:4,", film, "#EXT-X-ENDLIST")
        try playlist(
            "further.m3u8", "#EXT-X-STREAM-INF:BANDWIDTH=9000", "film.m3u8", "#EXT-X-STREAM-INF:BANDWIDTH=99000",
            "on.m3u8")
        for name in ["sound.m3u8", "picture.m3u8", "itself.m3u8", "further.m3u8"] {
            let film = try MediaFile.open(folder.path(name))
            let reader = try film.reader(for: try #require(film.summary.track(.video)))
            #expect(try reader.read() != nil)
        }
        #expect(throws: MediaError.self) { try MediaFile.open(folder.path("nothing.m3u8")) }
    }

    @Test func aLongPlaylistIsReadWhole() throws {
        let film = try TestClips.flashAndBeep("reach.ts", "-c:v libx264 -g 25 -c:a aac")
        let padding = (0..<3000).map { "# \($0) " + String(repeating: "x", count: 60) }.joined(separator: "\n")
        try playlist(
            "film.m3u8", "#EXT-X-TARGETDURATION:4", padding, "#EXTINF:4,", film, padding, "#EXTINF:4,", film,
            "#EXT-X-ENDLIST")
        try playlist("master.m3u8", "#EXT-X-STREAM-INF:BANDWIDTH=9000", "film.m3u8")
        let duration = try #require(try MediaFile.open(folder.path("master.m3u8")).summary.duration)
        #expect(duration.seconds > 7, "both segments count")
    }

    private static let key = "#EXT-X-KEY:METHOD=AES-128,URI=\"\(String(repeating: "k", count: 4000))\""

    private static func segments(_ count: Int, at address: String = "none.ts") -> String {
        String(repeating: "#EXTINF:2,\n\(address)\n", count: count)
    }

    /// libavformat allocates 10 kB for each variant, and a copy of the key's URL for each segment, before it opens any.
    @Test func aPlaylistThatTakesTooMuchMemoryIsRefusedBeforeAnyOfItsAddressesIsOpened() throws {
        try playlist("variants.m3u8", String(repeating: "#EXT-X-STREAM-INF:BANDWIDTH=1\nnone.m3u8\n", count: 50_000))
        try playlist("segments.m3u8", "#EXT-X-TARGETDURATION:2", Self.key, Self.segments(40_000), "#EXT-X-ENDLIST")
        try playlist("text.m3u8", "#EXT-X-TARGETDURATION:2", Self.segments(1), "#EXT-X-ENDLIST")
        truncate(folder.path("text.m3u8"), 33 << 20)
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        for (number, name) in ["variants.m3u8", "segments.m3u8", "text.m3u8"].enumerated() {
            for url in [folder.path(name), server.url(name)] {
                let error = #expect(throws: MediaError.self) { try MediaFile.open(url) }
                #expect(error?.code == .notMedia, "\(name)")
            }
            #expect(server.requests == number + 1, "\(name)")
        }
    }

    @Test func playlistsThatTakeTooMuchMemoryTogetherCostTheirOwnPartOfTheFilmOnly() throws {
        let film = try TestClips.flashAndBeep("reach.ts", "-c:v libx264 -g 25 -c:a aac")
        for name in ["one.m3u8", "two.m3u8"] {
            try playlist(
                name, "#EXT-X-TARGETDURATION:4", Self.segments(1, at: film) + Self.key, Self.segments(20_000),
                "#EXT-X-ENDLIST")
        }
        let variant = "#EXT-X-STREAM-INF:BANDWIDTH=9000"
        try playlist("master.m3u8", variant, "one.m3u8", variant, "two.m3u8")
        #expect(try MediaFile.open(folder.path("master.m3u8")).summary.tracks.count == 2)
    }

    @Test func aDayOfSegmentsOfTwoSecondsIsOpened() throws {
        let film = try TestClips.flashAndBeep("reach.ts", "-c:v libx264 -g 25 -c:a aac")
        try playlist(
            "day.m3u8", "#EXT-X-TARGETDURATION:4", Self.segments(43_200, at: film), "#EXT-X-ENDLIST")
        #expect(try MediaFile.open(folder.path("day.m3u8")).summary.duration?.seconds == 86_400)
    }
}
