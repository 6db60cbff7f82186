import MediaCore
import TalkieTestKit
import Testing

@testable import MediaFiles

@Suite struct InterstitialReadingTests {
    private let folder = TemporaryFolder()

    private func read(_ ranges: [String], at location: String = "https://a.org/f/film.m3u8") throws -> [Interstitial] {
        let lines =
            [
                "#EXTM3U", "#EXT-X-TARGETDURATION:10", "#EXTINF:4,", "0.ts",
                "#EXT-X-PROGRAM-DATE-TIME:2024-05-06T07:08:09.5Z", "#EXTINF:6,", "1.ts",
            ]
            + ranges.map { "#EXT-X-DATERANGE:\($0)" } + ["#EXTINF:6,", "2.ts", "#EXT-X-ENDLIST"]
        let playlist = try #require(MediaPlaylist(Array(lines.joined(separator: "\n").utf8)))
        return InterstitialReading.interstitials(of: playlist, at: location)
    }

    private let kind = "CLASS=\"com.apple.hls.interstitial\""

    @Test func aTagSaysWhereWhatAndHow() throws {
        let all = try read([
            "ID=\"b\",\(kind),START-DATE=\"2024-05-06T09:08:19.500+02:00\",X-ASSET-URI=\"../ad.m3u8?x=1,2\",X-RESUME-OFFSET=0,X-PLAYOUT-LIMIT=15.5,X-RESTRICT=\"SKIP,JUMP\",X-SNAP=\"OUT,IN\"",
            "ID=\"a\",\(kind),START-DATE=\"2024-05-06T07:08:05.500Z\",X-ASSET-LIST=\"https://b.org/list.json\"",
            "ID=\"p\",\(kind),CUE=\"PRE,ONCE\",START-DATE=\"2024-05-06T07:08:05.500Z\",X-ASSET-URI=\"https://b.org/p\"",
        ])
        #expect(all.map(\.id) == ["a", "p", "b"])
        #expect(all[0].position == .at(MediaTime(seconds: 0)) && all[0].assets == .list("https://b.org/list.json"))
        #expect(all[0].resumeOffset == nil && all[0].limit == Interstitial.longest)
        #expect(all[1].position == .before && all[1].isOnce)
        let last = all[2]
        #expect(last.position == .at(MediaTime(seconds: 14)) && last.assets == .one("https://a.org/ad.m3u8?x=1,2"))
        #expect(last.resumeOffset == .zero && last.limit.seconds == 15.5)
        #expect(last.forbidsSkipping && last.forbidsJumping && !all[0].forbidsSkipping)
    }

    @Test func whatFollowsTheFilmIsLast() throws {
        let address = "X-ASSET-URI=\"https://b.org/\""
        let films = (0..<Interstitial.maxCount).map {
            "ID=\"\($0)\",\(kind),START-DATE=\"2024-05-06T07:08:10Z\",\(address)"
        }
        let last = "ID=\"last\",\(kind),CUE=\"POST\",START-DATE=\"2024-05-06T07:08:10Z\",\(address)"
        #expect(try read([last] + films.prefix(2)).map(\.id) == ["0", "1", "last"])
        #expect(try read([last] + films).map(\.id).last == "\(Interstitial.maxCount - 1)", "it displaces no other")
    }

    @Test func whatLeadsAwayOrSaysNothingIsNone() throws {
        let start = "START-DATE=\"2024-05-06T07:08:10Z\""
        for wrong in [
            "ID=\"x\",\(start),X-ASSET-URI=\"https://b.org/\"", "\(kind),\(start),X-ASSET-URI=\"https://b.org/\"",
            "ID=\"x\",\(kind),\(start)", "ID=\"x\",\(kind),X-ASSET-URI=\"https://b.org/\"",
            "ID=\"x\",\(kind),\(start),X-ASSET-URI=\"file:///etc/passwd\"",
            "ID=\"x\",\(kind),\(start),X-ASSET-URI=\"http://b.org/\"",
            "ID=\"x\",\(kind),START-DATE=\"yesterday\",X-ASSET-URI=\"https://b.org/\"",
            "ID=\"x\",\(kind),START-DATE=\"2023-05-06T07:08:10Z\",X-ASSET-URI=\"https://b.org/\"",
        ] { #expect(try read([wrong]).isEmpty, "\(wrong)") }
        let many = (0..<500).map { "ID=\"\($0)\",\(kind),\(start),X-ASSET-URI=\"https://b.org/\($0)\"" }
        #expect(try read(many).count == Interstitial.maxCount)
        let odd = try read([
            "ID=\"x\",\(kind),\(start),X-ASSET-URI=\"https://b.org/\",X-PLAYOUT-LIMIT=1e99,X-RESUME-OFFSET=-5"
        ])
        #expect(odd[0].limit == Interstitial.longest && odd[0].resumeOffset == nil)
    }

    @Test func aListNamesItsPartsAndIsBounded() throws {
        let place = try #require(WebAddress("https://a.org/x/list"))
        func assets(_ text: String) -> [String]? { AssetList.assets(in: Array(text.utf8), at: place) }
        #expect(
            assets(
                "{\"ASSETS\":[{\"URI\":\"one.m3u8\",\"DURATION\":10.5},{\"URI\":\"https://b.org/2\"},{\"URI\":\"file:///x\"},{\"URI\":\"http://b.org/\"},{}],\"X\":1}"
            )
                == ["https://a.org/x/one.m3u8", "https://b.org/2"])
        let endless = "{\"ASSETS\":[" + Array(repeating: "{\"URI\":\"a\"}", count: 10_000).joined(separator: ",") + "]}"
        #expect((assets(endless) ?? []).count <= Interstitial.maxAssets)
        for wrong in ["", "[]", "{}", "{\"ASSETS\":{}}", "<html>", "{\"ASSETS\":"] {
            #expect(assets(wrong) == nil, "\(wrong)")
        }
        #expect(assets("{\"ASSETS\":[]}") == [])
    }

    @Test func aListWhoseTransferBreaksOffIsAnErrorAndNoShorterList() throws {
        let list = "{\"ASSETS\":[{\"URI\":\"ad.m3u8\"}]}"
        try folder.write(Array((list + String(repeating: " ", count: 200)).utf8), to: "list.json")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let error = #expect(throws: MediaError.self) {
            try AssetList.read(
                server.url("cut/0-9/list.json"), of: "", options: ReadOptions(), cancellation: Cancellation())
        }
        #expect(error?.code == .cannotOpen)
    }

    @Test func datesAreThoseOfTheCalendar() {
        #expect(CalendarDate.seconds("1970-01-01T00:00:00Z") == 0)
        #expect(CalendarDate.seconds("2000-02-29T12:00:00.25Z") == 951_825_600.25)
        #expect(CalendarDate.seconds("2024-05-06T09:08:09+0200") == CalendarDate.seconds("2024-05-06T07:08:09"))
        for wrong in ["", "2024", "2024-13-01T00:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00+xx"] {
            #expect(CalendarDate.seconds(wrong) == nil)
        }
    }

    @Test(arguments: ["film.m3u8", "master.m3u8"]) func aFilmOnAServerSaysWhatItsPlaylistAnnounces(_ name: String)
        throws
    {
        let film = try TestClips.flashAndBeep("hls-source.mkv", "-c:v libx264 -g 25 -c:a aac", seconds: 8)
        try TestClips.make(
            "film.m3u8", in: folder.path,
            ["-i", film] + TestClips.arguments("-t 4 -c copy -f hls -hls_time 1 -hls_playlist_type vod"))
        var lines = try String(decoding: TestClips.bytes(of: folder.path("film.m3u8")), as: UTF8.self)
            .split(separator: "\n").map(String.init)
        let first = try #require(lines.firstIndex { $0.hasPrefix("#EXTINF") })
        lines.insert(
            contentsOf: [
                "#EXT-X-PROGRAM-DATE-TIME:2024-01-01T00:00:00Z",
                "#EXT-X-DATERANGE:ID=\"x\",\(kind),START-DATE=\"2024-01-01T00:00:02Z\",X-ASSET-LIST=\"list.json\"",
            ], at: first)
        try folder.write(Array(lines.joined(separator: "\n").utf8), to: "film.m3u8")
        try folder.write(Array("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nfilm.m3u8\n".utf8), to: "master.m3u8")
        try folder.write(Array("{\"ASSETS\":[{\"URI\":\"ad.m3u8\"}]}".utf8), to: "list.json")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let all = try MediaFile.open(server.url(name)).summary.interstitials
        #expect(all.map(\.position) == [.at(MediaTime(seconds: 2))])
        let list = server.url("list.json")
        #expect(all.first?.assets == .list(list))
        var options = ReadOptions()
        options.headerFields = try HeaderField.list(parsing: "X-Key: mine")
        #expect(
            try AssetList.read(list, of: "http://other.org/film", options: options, cancellation: Cancellation()) == [
                server.url("ad.m3u8")
            ])
        #expect(server.requestHeads.last?.contains("X-Key") == false, "another server receives no secret")
        _ = try AssetList.read(list, of: server.url(name), options: options, cancellation: Cancellation())
        #expect(server.requestHeads.last?.contains("X-Key: mine") == true)
        // A list that stops in the middle is waited for until its timeout: in one of the cases.
        for wrong in ["film.m3u8", "nothing"] + (name == "film.m3u8" ? ["half/list.json"] : []) {
            #expect(throws: MediaError.self) {
                try AssetList.read(server.url(wrong), of: "", options: options, cancellation: Cancellation())
            }
        }
    }
}
