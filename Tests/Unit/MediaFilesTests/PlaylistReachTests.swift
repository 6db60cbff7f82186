import Glibc
import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

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
}
