import Foundation
import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

@testable import Playback

/// A script in place of yt-dlp: its output is written by the test, and the films are on a local server.
@Suite struct PageFinderTests {
    private let folder = TemporaryFolder()

    /// - Returns: a program that records its arguments and its standard input, and runs `body`.
    private func program(_ body: String) -> String {
        folder.writeProgram(
            """
            #!/bin/sh
            cat > '\(folder.path("input"))'
            printf '%s\\n' "$@" > '\(folder.path("words"))'
            \(body)

            """, to: "yt-dlp")
    }

    private func saying(_ json: String) -> String {
        folder.write(json, to: "answer")
        return program("cat '\(folder.path("answer"))'")
    }

    private func finder(
        _ path: String?, _ options: PageOptions = PageOptions(), _ cancellation: Cancellation = Cancellation()
    )
        -> PageFinder
    {
        PageFinder(options, reading: ReadOptions(), cancellation: cancellation, path: path)
    }

    private func server() throws -> TinyWebServer {
        folder.write("<!doctype html><html><body>A page about a film</body></html>", to: "page.html")
        for (name, codecs) in [
            ("page-both.mp4", "-c:v libx264 -g 25 -c:a aac -movflags +faststart"),
            ("page-pictures.mp4", "-c:v libx264 -g 25 -an -movflags +faststart"),
            ("page-sound.m4a", "-vn -c:a aac -movflags +faststart"),
        ] where !FileManager.default.fileExists(atPath: folder.path(name)) {
            let film = try TestClips.flashAndBeep(name, codecs, seconds: 6)
            try FileManager.default.createSymbolicLink(atPath: folder.path(name), withDestinationPath: film)
        }
        return try TinyWebServer(serving: folder.path)
    }

    private func failure(_ finder: PageFinder, _ address: String) -> MediaError? {
        do throws(MediaError) {
            _ = try finder.open(address)
            return nil
        } catch { return error }
    }

    @Test func aPageLeadsToItsFilmWithItsNameAndChapters() throws {
        let server = try server()
        defer { server.stop() }
        let path = saying(
            """
            {"id": "x", "title": "A film\\u0007 of ours", "url": "\(server.url("page-both.mp4"))", "nothing": null,
             "http_headers": {"User-Agent": "Browser/1", "Referer": "http://page/", "Range": "bytes=0-1", "X\\r\\nY": "z"},
             "cookies": "pass=\\"word\\"; Domain=127.0.0.1; Path=/; away=1; Domain=.example.org; Path=/",
             "chapters": [{"start_time": 2.5, "title": "Later"}, {"start_time": 0, "title": "First"}, {"start_time": -1}]}
            """)
        let page = server.url("page.html")
        let film = try finder(path).open(page)
        #expect(film.summary.title == "A film\u{FFFD} of ours")
        #expect(film.summary.chapters.map(\.title) == ["First", "Later"])
        #expect(film.summary.tracks.map(\.kind).sorted { $0.rawValue < $1.rawValue } == [.audio, .video])
        #expect(folder.read("words").hasSuffix("--config-locations\n-\n") && !folder.read("words").contains("http"))
        #expect(folder.read("input").hasSuffix("'--no-playlist'\n'\(page)'\n"))
        let heads = server.requestHeads.filter { $0.contains("page-both") }
        #expect(!heads.isEmpty)
        for head in heads {
            #expect(head.contains("User-Agent: Browser/1\r\n") && head.contains("Referer: http://page/\r\n"))
            #expect(head.contains("Cookie: pass=word\r\n") && !head.contains("bytes=0-1\r\n"))
        }
    }

    @Test func picturesAndSoundThatLieApartAreOneFilm() throws {
        let server = try server()
        defer { server.stop() }
        let path = saying(
            """
            {"title": "Apart", "requested_formats": [
              {"url": "\(server.url("page-sound.m4a"))", "vcodec": "none", "acodec": "aac"},
              {"url": "\(server.url("page-pictures.mp4"))", "vcodec": "h264", "acodec": "none"}]}
            """)
        let film = try finder(path).open(server.url("page.html"))
        #expect(film.summary.isSeekable && !film.summary.sharesReader)
        #expect(abs(try #require(film.summary.duration).seconds - 6) < 0.1)
        let video = try film.source(for: try #require(film.summary.track(.video)))
        let audio = try film.source(for: try #require(film.summary.track(.audio)))
        for second in [0, 3.5] {
            let target = MediaTime(seconds: second)
            try video.seek(to: target, mode: .exact)
            try audio.seek(to: target, mode: .exact)
            let seen = try FilmFrames.decode(video, showingFrom: target)
            let heard = try FilmAudio.decode(audio)
            let flash = try #require(seen.flashes.first { $0.seconds > second + 0.1 })
            let beep = try #require(heard.beeps.first { $0 > second + 0.1 })
            #expect(abs(beep - 0.05 - flash.seconds) < 0.001)
        }
    }

    @Test func aPageListPlaysItsFirstFilmAndReportsTheOthers() throws {
        let server = try server()
        defer { server.stop() }
        let path = program(
            """
            case "$(tail -n 1 '\(folder.path("input"))' | tr -d "'")" in
              *page.html) echo '{"_type": "playlist", "entries": [{"url": "http://127.0.0.1:\(server.port)/one.html", "title": "One"},
                {"url": "file:///etc/passwd"}, {"url": "http://two/", "title": "Two"}, {"id": "three"}]}';;
              *) echo '{"title": "One itself", "url": "\(server.url("page-both.mp4"))"}';;
            esac
            """)
        var options = PageOptions()
        let listed = Lock<[String]>([])
        options.onList = { _, films in listed.withLock { $0 += films.map { "\($0.address) \($0.title ?? "")" } } }
        let film = try finder(path, options).open(server.url("page.html"))
        #expect(film.summary.title == "One itself")
        #expect(listed.withLock { $0 } == ["http://two/ Two"])
    }

    @Test(arguments: [
        #"{"url": "file:///etc/passwd"}"#, #"{"url": "concat:http://a|/etc/passwd"}"#, #"{"url": "http://a\nb/"}"#,
        "[]", "{", "",
        #"{"requested_formats": [{"url": "http://a/"}, {"url": "/etc/passwd"}]}"#,
        #"{"entries": [{"url": "rtmp://a/"}]}"#,
        #"{"url": 7}"#, "{\"url\": \"http://a/\", \"x\": " + String(repeating: "[", count: 5000),
    ]) func whatIsNotOnTheWebIsNotOpened(_ json: String) throws {
        #expect(PageListing(Array(json.utf8)) == nil)
    }

    @Test func whatTheProgramComplainsOfIsOneSentence() throws {
        let server = try server()
        defer { server.stop() }
        let path = program(
            "echo 'WARNING: x' >&2; echo 'ERROR: [generic] No film at http://me:secret@host/' >&2; echo more >&2; exit 1"
        )
        let error = try #require(failure(finder(path), server.url("page.html")))
        #expect(error.code == .notMedia)
        #expect(error.message.contains("[generic] No film at http://…@host/") && !error.message.contains("secret"))
        #expect(!error.message.contains("\n") && !error.message.contains("more"))
    }

    @Test func aProgramThatSaysTooMuchOrNothingIsEnded() throws {
        let server = try server()
        defer { server.stop() }
        let endless = program("exec yes '{\"url\": \"http://a/\"}'")
        #expect(failure(finder(endless), server.url("page.html"))?.code == .limitExceeded)
        let silent = program("sleep 1000 & exec sleep 1000")
        let cancellation = Cancellation()
        let page = server.url("page.html")
        let code = Lock<MediaError.Code?>(nil)
        let finder = finder(silent, PageOptions(), cancellation)
        let worker = try WorkerThread.start(name: "opener") {
            do throws(MediaError) { _ = try finder.open(page) } catch { code.withLock { $0 = error.code } }
        }
        let deadline = HostInstant.now.advanced(by: .seconds(10))
        while !FileManager.default.fileExists(atPath: folder.path("words")), HostInstant.now < deadline {
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
        cancellation.cancel()
        worker.join()
        #expect(code.withLock { $0 } == .cancelled)
    }

    @Test func onlyWhatIsNoFilmIsAskedAbout() throws {
        let server = try server()
        defer { server.stop() }
        let path = saying(#"{"url": "http://127.0.0.1:1/"}"#)
        #expect(try finder(path).open(server.url("page-both.mp4")).summary.tracks.count == 2)
        #expect(failure(finder(path), server.url("nothing.mp4"))?.code == .cannotOpen)
        #expect(failure(finder(path), folder.path("page.html"))?.code == .notMedia)
        // yt-dlp parses manifests and playlists without a limit on its work.
        folder.write(
            "<MPD><Period><AdaptationSet mimeType='video/mp4'><Representation><BaseURL>ftp://a/b</BaseURL>"
                + "</Representation></AdaptationSet></Period></MPD>", to: "rejected.mpd")
        folder.write("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nnone.ts\n#EXT-X-ENDLIST\n", to: "none.m3u8")
        for name in ["rejected.mpd", "none.m3u8"] {
            #expect(failure(finder(path), server.url(name))?.code == .unsupported, "\(name)")
        }
        var off = PageOptions()
        off.isOn = false
        #expect(failure(finder(path, off), server.url("page.html"))?.code == .notMedia)
        #expect(!FileManager.default.fileExists(atPath: folder.path("words")))
        let missing = try #require(failure(finder(nil), server.url("page.html")))
        #expect(missing.message.contains("install yt-dlp"))
    }

    @Test func anOptionIsOneWordAndItsValueIsNoOption() throws {
        var options = PageOptions()
        options.format = "best[height<=720]"
        options.rawOptions = try PageOptions.rawOptions(
            parsing: "proxy=--exec=touch /tmp/x,yes-playlist=,force-ipv4,video-password=it's")
        let words = finder("x", options).configuration(for: "http://a/", cookies: "/copy")
        #expect(
            words == """
                '--format=best[height<=720]'
                '--proxy=--exec=touch /tmp/x'
                '--yes-playlist'
                '--force-ipv4'
                '--video-password=it'\\''s'
                '--cookies=/copy'
                'http://a/'

                """)
    }

    @Test(arguments: [
        "exec=rm", "exe=rm", "netrc-cmd=x", "config-locations=x", "-x=y", "=y", "output=/etc/x", "a b=c",
        "plugin-dirs=/x", "postprocessor-args=x", "paths=/x", "no-playlist=--exec=pre_process:touch FILE",
        "force-ipv4=--exec", "cookies", "proxy=a\u{0}b",
    ]) func anOptionThatRunsOrWritesOrDoesNotFitIsRefused(_ wrong: String) {
        #expect(throws: ValueError.self) { try PageOptions.rawOptions(parsing: wrong) }
    }

    @Test func theProgramGetsAPrivateCopyOfTheCookieFile() throws {
        let server = try server()
        defer { server.stop() }
        let original = folder.write("# Netscape HTTP Cookie File\n", to: "cookies.txt")
        var options = PageOptions()
        options.rawOptions = try PageOptions.rawOptions(parsing: "cookies=\(original)")
        let path = program(
            """
            file=$(sed -n "s/^'--cookies=\\(.*\\)'$/\\1/p" '\(folder.path("input"))')
            printf '%s\\n' "$file" > '\(folder.path("copy"))'
            ls "${TMPDIR:-/tmp}" | grep -c '^talkie-cookies' > '\(folder.path("files"))'
            cat "$file" > '\(folder.path("seen"))'
            echo damaged > "$file"
            echo '{"url": "\(server.url("page-both.mp4"))"}'
            """)
        _ = try finder(path, options).open(server.url("page.html"))
        let copy = folder.read("copy").trimmingCharacters(in: .newlines)
        // In memory: no file stays if both programs are killed.
        #expect(copy == CookieFileCopy.path && folder.read("files") == "0\n")
        #expect(folder.read("seen") == folder.read("cookies.txt"))
        #expect(folder.read("cookies.txt") == "# Netscape HTTP Cookie File\n")
        options.rawOptions = try PageOptions.rawOptions(parsing: "cookies=\(folder.path("none.txt"))")
        #expect(failure(finder(path, options), server.url("page.html"))?.code == .cannotOpen)
    }

    @Test func anAddressWithAPasswordIsNotPassedOn() throws {
        let server = try server()
        defer { server.stop() }
        let path = program("echo '{\"url\": \"http://127.0.0.1:1/\"}'")
        let page = server.url("page.html").replacing("http://", with: "http://me:secret@")
        let error = try #require(failure(finder(path), page))
        #expect(error.code == .notMedia && error.message.contains("password") && !error.message.contains("secret"))
        let list = program(#"echo '{"entries": [{"url": "http://me:secret@127.0.0.1:1/"}]}'"#)
        #expect(failure(finder(list), server.url("page.html"))?.message.contains("secret") == false)
        #expect(!folder.read("input").contains("secret"))
    }

    @Test(arguments: ["session=2024", "key=7", "token=a&v=1", "at=me@home"])
    func anAddressWhoseQueryMayGrantAccessIsPassedOn(_ query: String) throws {
        let server = try server()
        defer { server.stop() }
        let path = saying("{\"url\": \"\(server.url("page-both.mp4"))\"}")
        folder.write("<!doctype html><html><body>A page about a film</body></html>", to: "page.html?" + query)
        let page = server.url("page.html?" + query)
        let film = try finder(path).open(page)
        #expect(film.summary.track(.video) != nil)
        #expect(folder.read("input").hasSuffix("'\(page)'\n"))
    }

    @Test func theProgramIsLookedForInFoldersWithWholeNamesOnly() throws {
        let path = program("true")
        #expect(BoundedProgram.find("yt-dlp", in: "relative::\(folder.path)") == path)
        #expect(BoundedProgram.find("yt-dlp", in: ".:relative") == nil)
        #expect(BoundedProgram.find("answer", in: folder.path) == nil)
    }
}
