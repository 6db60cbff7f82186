import MediaCodecs
import MediaCore
import SyncRendering
import Testing

@Suite struct SubtitleDecoderTests {
    private func buffer(
        _ format: SubtitleFormat, _ bytes: [UInt8], at milliseconds: Int64 = 1000, lasting length: Int64 = 2000
    ) -> SampleBuffer {
        let batch = PacketBatch()
        let (time, duration) = (
            MediaTime(value: milliseconds, timescale: 1000), MediaTime(value: length, timescale: 1000)
        )
        bytes.withUnsafeBytes {
            batch.append($0, as: PacketBatch.Packet(presentationTime: time, duration: duration))
        }
        return SampleBuffer(payload: .encodedSubtitle(format, batch), presentationTime: time, duration: duration)
    }

    private func format(_ codec: String, charset: String? = nil, header: String = "") -> SubtitleFormat {
        SubtitleFormat(
            parameters: CodecParameters(codec: codec, configuration: Array(header.utf8)), charset: charset)
    }

    private func script(_ buffer: SampleBuffer?) -> (text: String, sheet: SubtitleStyleSheet, isAnimated: Bool)? {
        guard case .subtitle(let cue)? = buffer?.payload, case .script(let event, let sheet) = cue.content else {
            return nil
        }
        let fields = String(decoding: event, as: UTF8.self).split(
            separator: ",", maxSplits: 8, omittingEmptySubsequences: false)
        return (String(fields.last ?? ""), sheet, cue.isAnimated)
    }

    @Test func atTheTopStandWordsAloneAllInOneStyle() throws {
        let codecs = FilmSubtitleCodecs(position: .top)
        let header = "[Script Info]\n[V4+ Styles]\nFormat: Name\nStyle: Sign\n[Events]\nFormat: Layer, Text\n"
        let ass = format("ass", header: header)
        let decoder = try codecs.decoder(for: ass)
        func shown(_ event: String) throws -> (text: String, sheet: SubtitleStyleSheet, isAnimated: Bool)? {
            script(try decoder.decode(buffer(ass, Array(event.utf8))).first)
        }
        let plain = try #require(try shown("1,5,Sign,,9,9,9,Banner;2,{\\pos(1,2)\\t(\\fs9)}Two{\\i1} words, \\Nmore{"))
        #expect(plain.text == "Two words, \\Nmore{" && !plain.isAnimated && !plain.sheet.isAuthored)
        #expect(String(decoding: plain.sheet.header, as: UTF8.self).contains(",1,1.2,0,8,10,10,8,1\n"))
        #expect(try shown("2,0,Sign,,0,0,0,,{\\p1}m 0 0 l 9 9{\\p0}") == nil)
        let bitmaps = format("dvd_subtitle")
        #expect(throws: MediaError.self) { try codecs.decoder(for: bitmaps) }
    }

    @Test func plainWordsGetTheStyleThatMpvGivesThem() throws {
        let format = format("subrip")
        let decoder = try FilmSubtitleCodecs().decoder(for: format)
        let cues = try decoder.decode(buffer(format, Array("Hello,\n<i>you</i>".utf8)))
        let found = try #require(script(cues.first))
        #expect(found.text == "Hello,\\N{\\i1}you{\\i0}")
        #expect(cues.map(\.presentationTime) == [MediaTime(value: 1, timescale: 1)])
        #expect(cues.map(\.duration) == [MediaTime(value: 2, timescale: 1)])
        #expect(!found.sheet.isAuthored && !found.isAnimated)
        let header = String(decoding: found.sheet.header, as: UTF8.self)
        #expect(header.contains("PlayResY: 288\n"))
        #expect(header.contains("\nStyle: Default,sans-serif,22.0,&H00FFFFFF,"))
        #expect(header.contains(",1,1.2,0,2,10,10,8,1\n"))
        // One sheet for the whole track.
        let next = try #require(script(try decoder.decode(buffer(format, Array("more".utf8), at: 5000)).first))
        #expect(next.sheet === found.sheet)
    }

    @Test func wordsInAnotherCharsetAreTurnedAndABadLetterCostsItselfOnly() throws {
        let russian = format("subrip", charset: "WINDOWS-1251")
        let decoder = try FilmSubtitleCodecs().decoder(for: russian)
        // 0x98 is unassigned in that charset.
        let cues = try decoder.decode(buffer(russian, [0xCF, 0xF0, 0xE8, 0x98, 0xE2, 0xE5, 0xF2]))
        #expect(script(cues.first)?.text == "При\u{FFFD}вет")
        let plain = format("subrip")
        let other = try FilmSubtitleCodecs().decoder(for: plain)
        #expect(script(try other.decode(buffer(plain, Array("caf".utf8) + [0xE9])).first)?.text == "caf\u{FFFD}")
        #expect(decoder.decodeErrorCount == 0 && other.decodeErrorCount == 0)
        // With an unknown charset the text is unchanged.
        let unknown = format("subrip", charset: "NONSENSE-77")
        #expect(
            script(try FilmSubtitleCodecs().decoder(for: unknown).decode(buffer(unknown, Array("a".utf8))).first)?.text
                == "a")
    }

    private static let document = """
        [Script Info]
        PlayResY: 1080
        [V4+ Styles]
        Style: Sign,Arial,40
        [Events]

        """

    static let animated: [(String, Bool)] = [
        ("plain \\move text", false), ("{\\an8}up", false), ("{\\move(1,2,3,4)}x", true), ("{\\t(\\fscx200)}x", true),
        ("{\\fad(100,100)}x", true), ("{\\fade(1,2,3,4,5,6,7)}x", true), ("{\\k20}la", true), ("{\\an8\\K20}la", true),
        ("{\\kf20}la", true), ("{\\b1}a{\\t (0,1,\\c&HFF&)}b", true), ("{\\pos(1,2)\\fn Teko}x", false),
        ("{\\move(1,2", false),
        ("{a \\tall}b", false), ("{\\ t(1)}", true),
    ]

    @Test(arguments: animated) func whatMovesIsKnownByItsTags(_ text: String, _ moves: Bool) throws {
        let format = format("ass", header: Self.document)
        let decoder = try FilmSubtitleCodecs().decoder(for: format)
        let cues = try decoder.decode(buffer(format, Array("0,0,Sign,,0,0,0,,\(text)".utf8)))
        #expect(try #require(script(cues.first)).isAnimated == moves)
    }

    @Test func effectsMoveAndTheAuthorsStylesStay() throws {
        let format = format("ass", header: Self.document)
        let decoder = try FilmSubtitleCodecs().decoder(for: format)
        for (effect, moves) in [
            ("Banner;20;0;50", true), ("Scroll up;0;100;5", true), ("", false), ("anything", false),
        ] {
            let cues = try decoder.decode(buffer(format, Array("0,0,Sign,,0,0,0,\(effect),text".utf8)))
            let found = try #require(script(cues.first))
            #expect(found.isAnimated == moves, "\(effect)")
            #expect(found.sheet.isAuthored)
            #expect(String(decoding: found.sheet.header, as: UTF8.self).contains("Style: Sign,Arial,40"))
        }
    }

    @Test func excessSubtitlesAreDropped() throws {
        let format = format("ass", header: Self.document)
        let decoder = try FilmSubtitleCodecs().decoder(for: format)
        let long = "0,0,Sign,,0,0,0,," + String(repeating: "m 0 0 ", count: 20_000)
        #expect(try decoder.decode(buffer(format, Array(long.utf8))).isEmpty)
        #expect(decoder.decodeErrorCount == 1)
        #expect(try decoder.decode(buffer(format, Array("1,0,Sign,,0,0,0,,short".utf8))).count == 1)
    }

    @Test func whatNothingDecodesIsSaidToBeSo() {
        let error = #expect(throws: MediaError.self) { try FilmSubtitleCodecs().decoder(for: format("h264")) }
        #expect(error?.code == .unsupported)
    }

    @Test func aBufferOfPaceHoldsNothing() throws {
        let format = format("subrip")
        let decoder = try FilmSubtitleCodecs().decoder(for: format)
        let pace = SampleBuffer(payload: .encodedSubtitle(format, PacketBatch()), presentationTime: .zero)
        #expect(try decoder.decode(pace).isEmpty)
    }
}
