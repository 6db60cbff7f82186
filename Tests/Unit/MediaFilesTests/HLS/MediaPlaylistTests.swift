import MediaCore
import Testing

@testable import MediaFiles

@Suite struct MediaPlaylistTests {
    private func playlist(_ lines: String...) -> MediaPlaylist? {
        MediaPlaylist(Array((["#EXTM3U"] + lines).joined(separator: "\n").utf8))
    }

    private func lines(_ cut: MediaPlaylist.Cut) -> [String] {
        String(decoding: cut.text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func aCutKeepsWhatHoldsForItsFirstPiece() throws {
        let all = try #require(
            playlist(
                "#EXT-X-VERSION:7", "#EXT-X-MEDIA-SEQUENCE:10", "#EXT-X-TARGETDURATION:4",
                "#EXT-X-KEY:METHOD=AES-128,URI=\"a\"", "#EXT-X-MAP:URI=\"i.mp4\"", "#EXTINF:2.5,title", "0.m4s",
                "#EXT-X-KEY:METHOD=AES-128,URI=\"b\"", "#EXTINF:4,", "1.m4s  ", "#EXT-X-DISCONTINUITY",
                "#EXT-X-MAP:URI=\"j.mp4\"", "#EXTINF:3,", "2.m4s", "#EXTINF:3,", "3.m4s", "#EXT-X-ENDLIST"))
        #expect(all.isEnded && all.hasMap && all.seconds == 12.5)
        let head = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:4"]
        let second = all.cut(at: MediaTime(seconds: 2.5))
        #expect(
            lines(second) == head + [
                "#EXT-X-MEDIA-SEQUENCE:11", "#EXT-X-KEY:METHOD=AES-128,URI=\"a\"", "#EXT-X-MAP:URI=\"i.mp4\"",
                "#EXT-X-KEY:METHOD=AES-128,URI=\"b\"", "#EXTINF:4,", "1.m4s", "#EXT-X-ENDLIST",
            ])
        #expect(second.start.seconds == 2.5 && !second.followsDiscontinuity)
        // It ends before a segment with another init section.
        #expect(all.changesMap && second.end?.seconds == 6.5)
        let last = all.cut(at: MediaTime(seconds: 1e6))
        #expect(
            lines(last) == head + [
                "#EXT-X-MEDIA-SEQUENCE:13", "#EXT-X-KEY:METHOD=AES-128,URI=\"b\"", "#EXT-X-MAP:URI=\"j.mp4\"",
                "#EXTINF:3,", "3.m4s", "#EXT-X-ENDLIST",
            ])
        #expect(last.start.seconds == 9.5 && last.followsDiscontinuity && last.end == nil)
        let first = all.cut(at: MediaTime(seconds: -3))
        #expect(first.end?.seconds == 6.5 && all.text.starts(with: first.text.dropLast("#EXT-X-ENDLIST\n".utf8.count)))
    }

    @Test func parsingEndsSoonAfterACancellation() {
        let keys = String(repeating: "#EXT-X-KEY:METHOD=AES-128,URI=\"a\"\n", count: 100_000)
        var checks = 0
        let text = Array("#EXTM3U\n\(keys)#EXTINF:1,\na.ts\n".utf8)
        #expect(MediaPlaylist(text) != nil)
        let cancelled = MediaPlaylist(text) {
            checks += 1
            return checks == 20
        }
        #expect(cancelled == nil && checks == 20)
    }

    @Test func partsOfAFileSayWhereTheyBeginOnceTheOnesBeforeAreGone() throws {
        let all = try #require(
            playlist(
                "#EXTINF:1,", "#EXT-X-BYTERANGE:100@20", "f", "#EXTINF:1,", "#EXT-X-BYTERANGE:50", "f", "#EXTINF:1,",
                "#EXT-X-BYTERANGE:7", "f"))
        #expect(lines(all.cut(at: MediaTime(seconds: 1.5))).contains("#EXT-X-BYTERANGE:50@120"))
        #expect(lines(all.cut(at: MediaTime(seconds: 2.5))).contains("#EXT-X-BYTERANGE:7@170"))
    }

    @Test func keysOfOneFormatReplaceEachOtherAndNoneEndsThem() throws {
        let all = try #require(
            playlist(
                "#EXT-X-KEY:METHOD=SAMPLE-AES,KEYFORMAT=\"x\",URI=\"x\"", "#EXT-X-KEY:METHOD=AES-128,URI=\"a\"",
                "#EXTINF:1,",
                "0", "#EXTINF:1,", "1", "#EXT-X-KEY:METHOD=NONE", "#EXTINF:1,", "2", "#EXTINF:1,", "3"))
        #expect(lines(all.cut(at: MediaTime(seconds: 1))).count { $0.hasPrefix("#EXT-X-KEY") } == 3)
        let last = lines(all.cut(at: MediaTime(seconds: 3)))
        #expect(last.filter { $0.hasPrefix("#EXT-X-KEY") } == ["#EXT-X-KEY:METHOD=NONE"])
    }

    @Test func whatIsNoPlaylistOfPiecesIsNone() {
        #expect(MediaPlaylist([]) == nil)
        #expect(MediaPlaylist(Array("#EXTINF:1,\na".utf8)) == nil)
        #expect(playlist("a.ts") == nil)
        #expect(playlist("#EXT-X-STREAM-INF:BANDWIDTH=1", "a.m3u8") == nil)
        for odd in ["#EXTINF:-5,", "#EXTINF:nan,", "#EXTINF:99999999999999999999,", "#EXTINF:"] {
            #expect(playlist(odd, "a")?.seconds == 0)
        }
        #expect(
            playlist("#EXT-X-MEDIA-SEQUENCE:9223372036854775807", "#EXTINF:1,", "a", "#EXTINF:1,", "b")?.cut(
                at: MediaTime(seconds: 1)) != nil)
        #expect(
            playlist(
                "#EXTINF:1,", "#EXT-X-BYTERANGE:9223372036854775807@9223372036854775807", "a", "#EXTINF:1,",
                "#EXT-X-BYTERANGE:1", "a")?
                .cut(at: MediaTime(seconds: 1)) != nil)
    }

    @Test func aPlaylistOfManyShortLinesIsNotTakenApart() {
        let head = Array("#EXTM3U\n#EXTINF:1,\na.ts\n".utf8)
        #expect(MediaPlaylist(head + [UInt8](repeating: 0x0A, count: MediaPlaylist.maxLines)) == nil)
        #expect(MediaPlaylist(head + [UInt8](repeating: 0x0A, count: MediaPlaylist.maxLines / 2)) != nil)
        #expect(MediaPlaylist(head + [UInt8](repeating: 0x41, count: MediaPlaylist.maxBytes)) == nil)
    }
}
