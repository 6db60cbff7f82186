import MediaCore
import Testing

@testable import Playback

@Suite struct PlaylistFormatTests {
    private func entries(_ text: String, name: String = "list.m3u") -> [PlaylistEntry]? {
        PlaylistFormat(name: name, text: Array(text.utf8))?.entries(in: Array(text.utf8), limit: 100)
    }

    private func locations(_ text: String, name: String = "list.m3u") -> [String]? {
        entries(text, name: name)?.map(\.location)
    }

    @Test func m3uNamesAFilmALine() {
        let text =
            "\u{FEFF}#EXTM3U\r\n#EXTINF:12, One, two \r\n  films/a b.mkv\t\r\n\r\n# a remark\r\nhttps://example.org/c.mp4\r\n"
        #expect(
            entries(text) == [
                PlaylistEntry(location: "films/a b.mkv", title: "One, two"),
                PlaylistEntry(location: "https://example.org/c.mp4", title: nil),
            ])
        #expect(locations("a\rb\rc") == ["a", "b", "c"])
        #expect(locations("") == [])
    }

    @Test func titlesOfOlderProgramsAreLatin1AndNamesKeepTheirBytes() {
        let name: [UInt8] = Array("caf".utf8) + [0xE9] + Array(".avi".utf8)
        let text = Array("#EXTINF:1,".utf8) + name + [10] + name
        let entries = PlaylistFormat.m3u.entries(in: text, limit: 9)
        #expect(entries.map(\.title) == ["café.avi"])
        #expect(entries.map { FileName.bytes($0.location) } == [name])
    }

    @Test func hlsIsOneFilmInPieces() {
        let media = "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:9.009,\nfirst.ts\n"
        #expect(entries(media, name: "film.m3u8") == nil)
        #expect(entries(media, name: "film.m3u") == nil)
        #expect(entries("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n", name: "x") == nil)
        #expect(locations("#EXTM3U\n#EXTINF:9,\nfirst.ts\n", name: "film.m3u8") == ["first.ts"])
    }

    @Test func plsCountsItsFilms() {
        let text =
            "[playlist]\nFile10=z.mkv\nTitle2=Second\nfile2 = b.mkv \nFile1=a.mkv\nLength1=-1\nNumberOfEntries=3\nVersion=2\nFile=x\nFilex=y\n"
        #expect(
            entries(text, name: "x") == [
                PlaylistEntry(location: "a.mkv", title: nil), PlaylistEntry(location: "b.mkv", title: "Second"),
                PlaylistEntry(location: "z.mkv", title: nil),
            ])
    }

    @Test func xspfNamesTracks() {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!-- <track><location>no.mkv</location></track> -->
            <playlist version="1" xmlns="http://xspf.org/ns/0/">
              <title>The list</title><location>http://example.org/list</location>
              <trackList>
                <track><location>
                  one%20%26%20two.mkv</location><location>second.mkv</location><title>A &amp; B &#233;&#x1F3AC;</title></track>
                <track><title>without a place</title></track>
                <track><location><![CDATA[https://example.org/a%20b.mp4]]></location></track>
                <x:track><x:location>c.mkv</x:location></x:track>
                <track/>
              </trackList>
            </playlist>
            """
        #expect(
            entries(text, name: "x") == [
                PlaylistEntry(location: "one & two.mkv", title: "A & B é🎬"),
                PlaylistEntry(location: "https://example.org/a%20b.mp4", title: nil),
                PlaylistEntry(location: "c.mkv", title: nil),
            ])
    }

    @Test(arguments: [
        "<", "<track", "<track><location>", "<![CDATA[", "<!--", "<track><location>x</location>", "&#x110000;", "<//>",
        "< >",
    ])
    func brokenXSPFNamesNothingAndEnds(text: String) {
        #expect(locations(text, name: "a.xspf") == [])
    }

    @Test func whatIsNoPlaylistIsAFilm() {
        #expect(PlaylistFormat(name: "film.mp4", text: Array("just text".utf8)) == nil)
        #expect(PlaylistFormat(name: "film.mp4", text: [0, 0, 0, 32]) == nil)
    }

    @Test func theLimitHolds() {
        let text = Array((0..<50).map { "f\($0)" }.joined(separator: "\n").utf8)
        #expect(PlaylistFormat.m3u.entries(in: text, limit: 7).count == 7)
        let pls = Array((0..<50).map { "File\($0)=x" }.joined(separator: "\n").utf8)
        #expect(PlaylistFormat.pls.entries(in: pls, limit: 7).count == 7)
    }
}
