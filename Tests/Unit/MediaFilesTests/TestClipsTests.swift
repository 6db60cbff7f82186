import TalkieTestKit
import Testing

@Suite struct TestClipsTests {
    private let folder = TemporaryFolder()

    /// Returns the path of a subtitle file that ffmpeg converts from another one.
    private func converted(_ line: String, in name: String) throws -> String {
        try folder.write(Array("1\n00:00:01,000 --> 00:00:02,000\n\(line)\n".utf8), to: name)
        return try TestClips.make("lines.ass", ["-i", folder.path(name)])
    }

    @Test func aClipIsNamedByTheContentsOfItsInputsAndNotByTheirPaths() throws {
        let clip = try converted("one", in: "a.srt")
        #expect(try converted("one", in: "b.srt") == clip)
        let other = try converted("two", in: "a.srt")
        #expect(other != clip)
        #expect(try String(decoding: TestClips.bytes(of: other), as: UTF8.self).contains("two"))
    }

    @Test func aPlaylistIsCopiedWithItsSegments() throws {
        let words = TestClips.arguments("-f lavfi -i sine=d=2 -c:a mp2 -f hls -hls_time 1 -hls_playlist_type vod")
        for name in ["first.m3u8", "second.m3u8"] {
            try TestClips.make(name, in: folder.path, words)
            let list = try String(decoding: TestClips.bytes(of: folder.path(name)), as: UTF8.self)
            let segments = list.split(separator: "\n").filter { !$0.hasPrefix("#") }
            #expect(segments.count >= 2)
            for segment in segments { #expect(try !TestClips.bytes(of: folder.path(String(segment))).isEmpty) }
        }
    }
}
