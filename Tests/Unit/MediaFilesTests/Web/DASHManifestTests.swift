import MediaCore
import Testing

@testable import MediaFiles

@Suite struct DASHManifestTests {
    private func manifest(
        _ sets: String, _ root: String = "mediaPresentationDuration=\"PT10S\"", period: String = "<Period>"
    ) throws
        -> DASHManifest
    {
        let text =
            "<?xml version=\"1.0\"?><!-- > --><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" \(root)>\(period)\(sets)</Period></MPD>"
        return try DASHManifest(
            Array(text.utf8), at: try #require(WebAddress("http://a.org/f/film.mpd?k=1")), named: "\"film\"")
    }

    private func refusal(
        _ sets: String, _ root: String = "mediaPresentationDuration=\"PT10S\"", period: String = "<Period>"
    ) -> MediaError? {
        do {
            _ = try manifest(sets, root, period: period)
            return nil
        } catch { return error as? MediaError }
    }

    @Test func piecesThatAPatternNamesAreNumberedUpToTheFilmsEnd() throws {
        let film = try manifest(
            """
            <AdaptationSet mimeType="video/mp4"><SegmentTemplate timescale="10" duration="40" startNumber="5" \
            media="$RepresentationID$/$Number%03d$-$Bandwidth$.m4s" initialization="$RepresentationID$/i$$.mp4"/>
            <Representation id="v&amp;1" bandwidth="99"/></AdaptationSet>
            """)
        let one = try #require(film.representations.first)
        #expect(one.isVideo && one.bandwidth == 99 && one.start?.address.text == "http://a.org/f/v&1/i$.mp4")
        #expect(one.pieces.map(\.address.text) == (5...7).map { "http://a.org/f/v&1/00\($0)-99.m4s" })
        #expect(one.pieces.map(\.seconds) == [4, 4, 4])
    }

    @Test func piecesOfATimelineHaveTheirTimes() throws {
        let film = try manifest(
            """
            <AdaptationSet contentType="audio" lang="de"><BaseURL>s/</BaseURL><Representation bandwidth="7"><SegmentTemplate timescale="10" media="$Time$.m4s">
            <SegmentTimeline><S t="5" d="20" r="1"/><S d="10"/><S d="30" r="-1"/></SegmentTimeline></SegmentTemplate></Representation></AdaptationSet>
            """)
        let one = try #require(film.representations.first)
        #expect(!one.isVideo && one.language == "de")
        #expect(one.pieces.map(\.address.target) == [5, 25, 45, 55, 85].map { "/f/s/\($0).m4s" })
        #expect(one.pieces.map(\.seconds) == [2, 2, 1, 3, 3])
    }

    @Test func whatASetStatesAboutAccessibilityIsMoreSpecificThanItsRole() throws {
        let role = "urn:mpeg:dash:role:2011", purpose = "urn:tva:metadata:cs:AudioPurposeCS:2007"
        let cases: [([(String, String, String)], Track.Purpose)] = [
            ([], .main), ([("Role", role, "main")], .main), ([("Role", role, "dub")], .main),
            ([("Role", role, "alternate"), ("Accessibility", purpose, "1")], .description),
            ([("Role", role, "commentary"), ("Accessibility", role, "description")], .description),
            ([("Accessibility", purpose, "2")], .hearingImpaired),
            ([("Accessibility", role, "enhanced-audio-intelligibility")], .hearingImpaired),
            ([("Role", role, "main"), ("Role", role, "commentary")], .commentary),
            ([("Accessibility", purpose, "4")], .commentary), ([("Accessibility", "urn:other", "1")], .main),
        ]
        let sets = cases.map { descriptors, _ in
            let elements = descriptors.map { "<\($0.0) schemeIdUri=\"\($0.1)\" value=\"\($0.2)\"/>" }.joined()
            return "<AdaptationSet mimeType=\"audio/mp4\">\(elements)<Representation bandwidth=\"1\"/></AdaptationSet>"
        }
        #expect(try manifest(sets.joined()).representations.map(\.purpose) == cases.map(\.1))
    }

    @Test func piecesOfAListAndOfOneFileAreWhatTheyAre() throws {
        let film = try manifest(
            """
            <AdaptationSet mimeType="video/mp4"><Representation bandwidth="1"><SegmentList duration="5"><Initialization sourceURL="i.mp4" range="0-9"/>
            <SegmentURL media="all.mp4" mediaRange="10-19"/><SegmentURL media="/x.mp4"/></SegmentList></Representation></AdaptationSet>
            <AdaptationSet mimeType="audio/mp4"><Representation bandwidth="2"><BaseURL> http://b.org/whole.mp4 </BaseURL></Representation></AdaptationSet>
            """)
        let (list, file) = (film.representations[0], film.representations[1])
        #expect(list.start?.range == 0..<10 && list.pieces.map(\.range) == [10..<20, nil])
        #expect(list.pieces.map(\.address.text) == ["http://a.org/f/all.mp4", "http://a.org/x.mp4"])
        #expect(file.pieces.map(\.address.text) == ["http://b.org/whole.mp4"] && file.pieces[0].seconds == 10)
        let playlists = DASHPlaylists(film, .highest)
        let master = String(decoding: playlists.master, as: UTF8.self).split(separator: "\n").map(String.init)
        let addresses = (0...1).map { "http://dash.talkie.invalid/\($0).m3u8" }
        #expect(master.last == addresses[0] && master.contains { $0.contains("URI=\"\(addresses[1])\"") })
        let text = String(decoding: try #require(playlists.playlist(at: addresses[0])), as: UTF8.self)
        #expect(
            text.contains(
                "#EXT-X-MAP:URI=\"http://a.org/f/i.mp4\",BYTERANGE=\"10@0\"\n#EXTINF:5.0,\n#EXT-X-BYTERANGE:10@10\nhttp://a.org/f/all.mp4\n"
            ))
        #expect(playlists.playlist(at: "http://dash.talkie.invalid/2.m3u8") == nil)
    }

    @Test func whatCannotBePlayedSaysWhy() {
        let set =
            "<AdaptationSet mimeType=\"video/mp4\"><Representation bandwidth=\"1\"><BaseURL>x</BaseURL></Representation></AdaptationSet>"
        #expect(refusal(set) == nil)
        #expect(refusal(set, "type=\"dynamic\"")?.message.contains("live") == true)
        #expect(refusal(set, period: "<Period></Period><Period>")?.code == .unsupported)
        #expect(
            refusal(set.replacing("<BaseURL>", with: "<ContentProtection/><BaseURL>"))?.message.contains("encrypted")
                == true)
        #expect(refusal("")?.code == .unsupported)
        #expect(refusal(set, "><!DOCTYPE x [<!ENTITY a \"b\">]")?.code == .notMedia)
        #expect(refusal(set.replacing(">x<", with: ">&#102;ile:///etc/x<"))?.code == .unsupported)
        for text in ["", "<", "<MPD", "<MPD>", "<MPD/>", "<a b=c/>", "</MPD>", String(repeating: "<a>", count: 100)] {
            #expect(throws: MediaError.self) {
                try DASHManifest(Array(text.utf8), at: WebAddress("http://a/")!, named: "x")
            }
        }
    }

    static let numbers = [
        "0", "-1", "2147483648", "4611686018427387904", "-4611686018427387904", "9223372036854775807",
        "-9223372036854775807", "900000000000000", "990000000000", "1e30", "-1e30", "nan", "inf", "",
    ]

    @Test(arguments: numbers) func noNumberOfAManifestTraps(_ number: String) {
        let template =
            "<SegmentTemplate timescale=\"T\" duration=\"D\" startNumber=\"N\" presentationTimeOffset=\"O\" media=\"$Number%099d$-$Time$\"/>"
        let timed =
            "<SegmentTemplate timescale=\"T\" media=\"$Time$\"><SegmentTimeline><S t=\"N\" d=\"D\" r=\"O\"/><S d=\"3000000000\" r=\"-1\"/></SegmentTimeline></SegmentTemplate>"
        let list =
            "<SegmentList timescale=\"T\" duration=\"D\"><Initialization range=\"N-O\"/><SegmentURL media=\"a\" mediaRange=\"N-O\"/><SegmentURL mediaRange=\"0-N\"/></SegmentList>"
        for shape in [template, timed, list] {
            for hole in ["T", "D", "N", "O"] {
                var filled = shape.replacing("\"\(hole)", with: "\"\(number)").replacing(
                    "-\(hole)\"", with: "-\(number)\"")
                for (other, usual) in ["T": "990000000000", "D": "900000000000000", "N": "1", "O": "0"] {
                    filled = filled.replacing("\"\(other)", with: "\"\(usual)").replacing(
                        "-\(other)\"", with: "-\(usual)\"")
                }
                let set =
                    "<AdaptationSet mimeType=\"video/mp4\"><Representation bandwidth=\"\(number)\">\(filled)</Representation></AdaptationSet>"
                guard let film = try? manifest(set, "mediaPresentationDuration=\"PT1S\"") else { continue }
                let playlists = DASHPlaylists(film, .highest)
                #expect(playlists.playlist(at: "http://dash.talkie.invalid/0.m3u8") != nil)
            }
        }
    }

    @Test func timesOfAPatternBeyond64BitsEndThere() throws {
        let film = try manifest(
            "<AdaptationSet mimeType=\"video/mp4\"><SegmentTemplate timescale=\"990000000000\" duration=\"900000000000000\" media=\"$Time$\"/><Representation/></AdaptationSet>",
            "mediaPresentationDuration=\"PT9990000S\"")
        #expect(film.representations[0].pieces.count < 6000)
    }

    @Test func aSmallManifestDoesNotBecomeAGigabyte() {
        let one = "<Representation bandwidth=\"1\"/>"
        let set =
            "<AdaptationSet mimeType=\"video/mp4\"><SegmentTemplate duration=\"1\" media=\"$Number$"
            + String(repeating: "x", count: 30_000) + "\"/>" + String(repeating: one, count: 32) + "</AdaptationSet>"
        #expect(refusal(set, "mediaPresentationDuration=\"PT27H\"")?.code == .limitExceeded)
        // Ten representations of an hour.
        let long =
            "<AdaptationSet mimeType=\"video/mp4\"><SegmentTemplate duration=\"2\" media=\"v/$Number%06d$.m4s\"/>"
            + String(repeating: one, count: 10) + "</AdaptationSet>"
        #expect(refusal(long, "mediaPresentationDuration=\"PT1H\"") == nil)
    }

    @Test(arguments: [
        ("<S d=\"1\" r=\"999999999\"/>", DASHManifest.maxSegments), ("<S d=\"1\" r=\"-1\"/>", DASHManifest.maxSegments),
        ("<S t=\"9223372036854775807\" d=\"1\" r=\"5\"/>", 6),
    ])
    func aTimelineNamesNoMorePiecesThanAFilmHas(_ elements: String, _ count: Int) throws {
        var budget = WorkBudget(1 << 20)
        let timeline = try #require(
            try MarkupElement(Array("<SegmentTimeline>\(elements)</SegmentTimeline>".utf8), &budget))
        #expect(try SegmentTemplate.times(timeline, until: 1e9, scale: 1, &budget).count == count)
    }

    // MARK: Work

    /// Returns how often the work on a manifest was checked for cancellation, and its error.
    private func checks(_ sets: String, cancellingAt limit: Int = .max) -> (count: Int, error: MediaError?) {
        let text = "<MPD mediaPresentationDuration=\"PT10S\"><Period>\(sets)</Period></MPD>"
        var count = 0
        do throws(MediaError) {
            _ = try DASHManifest(Array(text.utf8), at: WebAddress("http://a.org/f.mpd")!, named: "\"film\"") {
                count += 1
                return count >= limit
            }
            return (count, nil)
        } catch { return (count, error) }
    }

    /// Each one that is rejected once searched all others.
    @Test func theWorkOnRejectedRepresentationsGrowsWithTheirNumber() {
        func rejected(_ count: Int) -> String {
            "<AdaptationSet mimeType=\"video/mp4\">"
                + String(repeating: "<Representation><BaseURL>ftp://b</BaseURL></Representation>", count: count)
                + "</AdaptationSet>"
        }
        let (few, many) = (checks(rejected(4_000)), checks(rejected(16_000)))
        #expect(few.error?.code == .unsupported && many.error?.code == .unsupported)
        #expect(few.count > 10 && many.count < 5 * few.count, "\(few.count) \(many.count)")
        #expect(checks(rejected(4_000), cancellingAt: few.count / 2).error?.code == .cancelled)
    }

    @Test(arguments: [
        // Children that are searched again, a pattern, an address, times, and segments for each representation.
        ("<SegmentTemplate media='a'>" + String(repeating: "<x/>", count: 20_000) + "</SegmentTemplate>", 10_000),
        ("<SegmentTemplate duration='1' media='\(String(repeating: "$", count: 60_000))'/>", 4_000),
        (
            "<BaseURL>\(String(repeating: "a/../", count: 6_000))</BaseURL><SegmentTemplate duration='1' media='ftp://b'/>",
            4_000
        ),
        (
            "<SegmentTemplate media='ftp://b'><SegmentTimeline><S d='1' r='99999'/></SegmentTimeline></SegmentTemplate>",
            2_000
        ),
        ("<SegmentTemplate duration='0.001' media='ftp://b'/>", 2_000),
    ])
    func whatIsExpandedForRejectedRepresentationsIsCharged(_ common: String, _ count: Int) {
        let set =
            "<AdaptationSet mimeType=\"video/mp4\">\(common)"
            + String(repeating: "<Representation><BaseURL>ftp://b</BaseURL></Representation>", count: count)
            + String(repeating: "<Representation/>", count: count) + "</AdaptationSet>"
        let work = checks(set)
        #expect(work.error?.code == .limitExceeded || work.count < 2000, "\(work)")
        #expect(work.count <= (96 << 20) / (1 << 14) + 1)
        #expect(checks(set, cancellingAt: min(40, work.count / 2)).error?.code == .cancelled)
    }

    @Test func durationsAreThoseOfXMLSchema() {
        #expect(DASHManifest.seconds("P1DT2H3M4.5S") == 93784.5)
        for wrong in ["", "P", "PT", "PT1", "10", "PTxS", "P1S"] { #expect(DASHManifest.seconds(wrong) == nil) }
    }
}
