import Glibc
import MediaCodecs
import MediaCore
import SyncRendering
import TalkieTestKit
import Testing

@testable import MediaFiles

@Suite struct SubtitleFileTests {
    let folder = TemporaryFolder()

    private static let lines = [SubtitleFiles.Cue(1000, 2500, "one"), .init(61_000, 62_000, "two")]

    static let texts: [(String, String)] = [
        ("a.srt", SubtitleFiles.srt(lines)),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.500\none\n\n01:01.000 --> 01:02.000\ntwo\n"),
        (
            "a.ass",
            "[Script Info]\nScriptType: v4.00+\n\n[V4+ Styles]\nFormat: Name, Fontname, Fontsize\nStyle: Default,Arial,20\n\n[Events]\n"
                + "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
                + "Dialogue: 0,0:00:01.00,0:00:02.50,Default,,0,0,0,,one\nDialogue: 0,0:01:01.00,0:01:02.00,Default,,0,0,0,,two\n"
        ),
        ("a.sub", "{1}{1}10\n{10}{25}one\n{610}{620}two\n"),
        (
            "a.smi",
            "<SAMI><BODY><SYNC Start=1000><P>one<SYNC Start=2500><P>&nbsp;<SYNC Start=61000><P>two<SYNC Start=62000><P>&nbsp;</BODY></SAMI>\n"
        ),
    ]

    /// Film times are those of the file, even if its first line is late.
    @Test(arguments: texts) func everyKindOfWordsIsReadAtItsTime(_ name: String, _ text: String) throws {
        let file = try SubtitleFile.open(try folder.write(Array(text.utf8), to: name))
        let track = try #require(file.summary.tracks.first)
        #expect(file.summary.tracks.count == 1 && track.kind == .subtitle && track.number == 1)
        let source = try file.source(for: track)
        let read = try ReadSubtitles(source)
        let shown = read.cues.filter { !(SubtitleTrackTests.text($0) ?? "").allSatisfy { $0 == " " || $0 == "\u{A0}" } }
        #expect(shown.compactMap(SubtitleTrackTests.text).map { $0.hasPrefix("one") } == [true, false])
        #expect(shown.map { $0.presentationTime?.rescaled(to: 1000) } == [1000, 61_000])
        #expect(shown.first?.duration.rescaled(to: 1000) == 1500)
        try source.seek(to: MediaTime(value: 60, timescale: 1), mode: .exact)
        let later = try ReadSubtitles(source)
        #expect(later.texts.contains("two") && later.first?.flags.contains(.discontinuity) == true)
        try source.seek(to: .zero, mode: .exact)
        #expect(try ReadSubtitles(source).cues.count == read.cues.count)
    }

    @Test(arguments: ["0\n", "My subtitles\n", "\n\n", "\u{FEFF}\n", "\u{FEFF}", "-1\nHeading\n\n"])
    func subRipNeedNotBeginWithTheNumberOfACue(_ head: String) throws {
        let text = head + SubtitleFiles.srt(Self.lines)
        let file = try SubtitleFile.open(try folder.write(Array(text.utf8), to: "a.srt"))
        let read = try ReadSubtitles(try file.source(for: try #require(file.summary.tracks.first)))
        #expect(read.cues.compactMap(SubtitleTrackTests.text) == ["one", "two"])
        #expect(read.cues.map { $0.presentationTime?.rescaled(to: 1000) } == [1000, 61_000])
    }

    @Test func subRipNeedsNoNumbersButCues() throws {
        let text = "00:00:01,000 --> 00:00:02,500\none\n\n00:01:01,000 --> 00:01:02,000\ntwo\n"
        let file = try SubtitleFile.open(try folder.write(Array(text.utf8), to: "a.SRT"))
        let read = try ReadSubtitles(try file.source(for: try #require(file.summary.tracks.first)))
        #expect(read.cues.compactMap(SubtitleTrackTests.text) == ["one", "two"])
        for other in ["no cues\n", "\u{0}\u{1}\u{2}"] {
            let path = try folder.write(Array(other.utf8), to: "b.srt")
            #expect(throws: MediaError.self) { try SubtitleFile.open(path) }
        }
    }

    @Test func graphicsOfADiscKeepTheirPlaceColoursAndTime() throws {
        let file = try SubtitleFile.open(try folder.write(SubtitleFiles.sup(Self.lines), to: "a.sup"))
        let read = try ReadSubtitles(try file.source(for: try #require(file.summary.tracks.first)))
        #expect(read.cues.map { $0.presentationTime?.rescaled(to: 1000) } == [1000, 2500, 61_000, 62_000])
        #expect(read.cues.map { SubtitleTrackTests.image($0) == nil } == [false, true, false, true])
        #expect(read.cues.allSatisfy { $0.duration == .zero })
        guard case .subtitle(let cue)? = read.cues.first?.payload, case .images(let images, let canvas) = cue.content
        else {
            Issue.record("no image")
            return
        }
        #expect(canvas == PixelSize(width: 720, height: 576))
        #expect(images.map(\.rect) == [PixelRect(x: 100, y: 500, width: 8, height: 4)])
        #expect(images.first?.pixels == [UInt8](repeating: 255, count: 8 * 4 * 4))
    }

    @Test(arguments: ["a.idx", "a.sub"]) func vobSubIsReadByEitherOfItsTwoFiles(_ named: String) throws {
        let graphics = try SubtitleFiles.write(SubtitleFiles.sup([Self.lines[0]]), as: "sup")
        let disc = try TestClips.make("vobsub.mkv", ["-copyts", "-i", graphics, "-c:s", "dvdsub"])
        let pictures = try TestClips.make("vobsub.sub", ["-i", disc, "-c:s", "copy", "-f", "vob"])
        try folder.write(try TestClips.bytes(of: pictures), to: "a.sub")
        let index = """
            # VobSub index file, v7 (do not modify this line!)
            size: 720x576
            id: en, index: 0
            timestamp: 00:00:01:000, filepos: 000000000

            """
        try folder.write(Array(index.utf8), to: "a.idx")
        let file = try SubtitleFile.open(folder.path(named))
        #expect(file.summary.tracks.map(\.language) == ["en"])
        let read = try ReadSubtitles(try file.source(for: try #require(file.summary.tracks.first)))
        let first = try #require(read.cues.first)
        #expect(first.presentationTime?.rescaled(to: 1000) == 1000)
        #expect(SubtitleTrackTests.image(first)?.rect.y == 500)
        unlink(folder.path("a.sub"))
        if named == "a.idx" { #expect(throws: MediaError.self) { try SubtitleFile.open(folder.path(named)) } }
    }

    /// libavformat detects VobSub by its first line, and opens the second file itself.
    @Test(arguments: ["a.idx", "a.srt"]) func theBitmapsOfVobSubAreARegularFile(_ named: String) throws {
        let index =
            "# VobSub index file, v7 (do not modify this line!)\nid: en, index: 0\n"
            + "timestamp: 00:00:01:000, filepos: 000000000\n"
        let path = try folder.write(Array(index.utf8), to: named)
        try #require(symlink("/dev/zero", folder.path("a.sub")) == 0)
        #expect(throws: MediaError.self) { try SubtitleFile.open(path) }
    }

    static let charsets: [([UInt8], String?, String)] = [
        (Array("Ünïcödé".utf8), nil, "Ünïcödé"),
        // "Привет, как дела? Всё хорошо, спасибо." in Windows-1251.
        (
            [
                0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2, 0x2C, 0x20, 0xEA, 0xE0, 0xEA, 0x20, 0xE4, 0xE5, 0xEB, 0xE0, 0x3F,
                0x20, 0xC2, 0xF1,
                0xB8, 0x20, 0xF5, 0xEE, 0xF0, 0xEE, 0xF8, 0xEE, 0x2C, 0x20, 0xF1, 0xEF, 0xE0, 0xF1, 0xE8, 0xE1, 0xEE,
                0x2E,
            ], "WINDOWS-1251", "Привет, как дела? Всё хорошо, спасибо."
        ),
    ]

    @Test(arguments: charsets) func wordsThatAreNoUTF8AreGuessed(_ words: [UInt8], _ charset: String?, _ text: String)
        throws
    {
        let head = Array("1\n00:00:01,000 --> 00:00:02,000\n".utf8)
        let file = try SubtitleFile.open(try folder.write(head + words + [10], to: "a.srt"))
        let track = try #require(file.summary.tracks.first)
        #expect(track.subtitleFormat?.charset == charset)
        #expect(try ReadSubtitles(try file.source(for: track)).texts == [text])
    }

    @Test func wordsInUTF16ThatSaySoAreRead() throws {
        let text = "1\n00:00:01,000 --> 00:00:02,000\nПривет\n"
        let bytes: [UInt8] = [0xFF, 0xFE] + text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        let file = try SubtitleFile.open(try folder.write(bytes, to: "a.srt"))
        let track = try #require(file.summary.tracks.first)
        #expect(try ReadSubtitles(try file.source(for: track)).texts == ["Привет"])
    }

    /// Runs in a separate process with a file size limit.
    @Test func aCopyThatCannotBeWrittenLeavesNoDescriptorOpen() async throws {
        let path = try folder.write([0xFF, 0xFE] + [UInt8](repeating: 65, count: 1000), to: "a.srt")
        await #expect(processExitsWith: .success) { [path = path as String] in
            func openCopies() -> Int { openDescriptors { $0 == path || $0.hasPrefix("/memfd:") } }
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            withExtendedLifetime(UTF8Copy(of: path)) { copy in
                #expect(copy != nil)
                #expect(openCopies() == 1)
            }
            #expect(openCopies() == 0)
            limit.rlim_cur = 0
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            let refused = UTF8Copy(of: path)
            let left = openCopies()
            // What the expectations write must fit again.
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            #expect(refused == nil)
            #expect(left == 0)
        }
    }

    @Test func whatIsNoFileOfSubtitlesIsRefused() throws {
        let film = try TestClips.flashAndBeep("refused.ts", "-c:v libx264 -c:a aac")
        let large = try folder.write([1], to: "large.srt")
        truncate(large, 65 << 20)
        mkfifo(folder.path("pipe.srt"), 0o600)
        let wrong: [(String, MediaError.Code)] = [
            (film, .notMedia), (try folder.write(Array("nothing".utf8), to: "a.srt"), .notMedia),
            (large, .limitExceeded),
            (folder.path("pipe.srt"), .unsupported), ("https://127.0.0.1/a.srt", .unsupported),
            (folder.path("none.srt"), .cannotOpen),
        ]
        for (path, code) in wrong {
            let error = #expect(throws: MediaError.self) { try SubtitleFile.open(path) }
            #expect(error?.code == code, "\(path): \(error?.message ?? "")")
        }
        // And the reverse.
        let words = try folder.write(Array(SubtitleFiles.srt(Self.lines).utf8), to: "b.srt")
        #expect(throws: MediaError.self) { try MediaFile.open(words) }
    }
}
