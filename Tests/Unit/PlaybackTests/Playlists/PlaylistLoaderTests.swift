import Foundation
import TalkieTestKit
import Testing

@testable import MediaCore
@testable import Playback

@Suite struct PlaylistLoaderTests {
    let folder = TemporaryFolder()

    private func addresses(_ words: String...) throws -> [String] { try PlaylistLoader(words).items.map(\.address) }

    private func refusal(_ words: String...) -> String {
        let failure = #expect(throws: TalkieError.self) { try PlaylistLoader(words) }
        #expect(failure?.code == .cannotOpen)
        return failure?.message ?? ""
    }

    @Test func filmsArePlayedAsTheyAreNamed() throws {
        let film = folder.write("not empty", to: "a.mp4")
        #expect(try addresses(film, "https://example.org/x.m3u8", "-") == [film, "https://example.org/x.m3u8", "-"])
        #expect(try addresses("file://" + film) == [film])
    }

    @Test func pathsInAPlaylistStartWhereItLies() throws {
        folder.write("x", to: "a film.mp4")
        let list = folder.write(
            "#EXTM3U\na film.mp4\n/abs/b.mp4\nfile:///c%20d.mp4\nhttp://example.org/e.mp4\n-\n", to: "l.m3u")
        #expect(
            try addresses(list) == [
                folder.path("a film.mp4"), "/abs/b.mp4", "/c d.mp4", "http://example.org/e.mp4", folder.path("-"),
            ])
    }

    @Test func aNameInAPlaylistIsReadAsWrittenElseAsVLCOrWindowsWriteIt() throws {
        for name in ["plain name.wav", "100%25.wav", "100%.wav", "café.wav", "a\\b.wav"] { folder.write("x", to: name) }
        try TestClips.write([1], to: folder.path(FileName.text(Self.danish)))
        let lines = [
            "plain%20name.wav", ".\\plain name.wav", ".\\plain%20name.wav", "100%25.wav", "a\\b.wav", "none%20.wav",
        ]
        let list = folder.write(lines.joined(separator: "\n"), to: "l.m3u")
        #expect(
            try addresses(list)
                == ["plain name.wav", "./plain name.wav", "./plain name.wav", "100%25.wav", "a\\b.wav", "none%20.wav"]
                .map(folder.path))
    }

    private static let danish = Array("Molv".utf8) + [0xE6] + Array("r.wav".utf8)

    /// In a list, a folder and a URL; as Latin-1 where the file is UTF-8.
    @Test func aNameThatIsNotUTF8IsFoundByItsBytes() throws {
        let name = FileName.text(Self.danish)
        try TestClips.write([1], to: folder.path(name))
        #expect(try addresses(folder.path(name)) == [folder.path(name)])
        #expect(try addresses(folder.path) == [folder.path(name)])
        #expect(try addresses("file://\(folder.path)/Molv%E6r.wav") == [folder.path(name)])
        let cafe = Array("caf".utf8) + [0xE9] + Array(".wav".utf8)
        folder.write("x", to: "café.wav")
        let list = folder.path("list.m3u")
        try TestClips.write(Self.danish + [10] + cafe, to: list)
        #expect(try addresses(list) == [folder.path(name), folder.path("café.wav")])
        #expect(refusal(folder.path(name) + "x").contains("Molv"))
    }

    @Test func aCueSheetOfOneFileIsThatRecordingAndOneOfSeveralIsAList() throws {
        folder.write("x", to: "a.flac")
        folder.write("x", to: "b.wav")
        let tracks = "TRACK 01 AUDIO\nTITLE \"One\"\nINDEX 01 00:00:00\n"
        let one = folder.write("FILE \"a.wav\" WAVE\n" + tracks, to: "one.cue")
        #expect(try addresses(one) == [one], "its chapters are read with it")
        let several = folder.write(
            "FILE \"a.wav\" WAVE\n" + tracks + "FILE b.wav WAVE\nFILE c.wav WAVE\n", to: "several.cue")
        let loader = try PlaylistLoader([several])
        #expect(loader.items.map(\.address) == [folder.path("a.flac"), folder.path("b.wav")])
        #expect(loader.items.map(\.title) == ["One", nil])
        #expect(loader.warnings.count == 1 && loader.warnings[0].contains("\"c.wav\""))
    }

    @Test func aPlaylistInAPlaylistIsOpened() throws {
        folder.write("x.mp4\n", to: "inner.m3u")
        let outer = folder.write("a.mp4\ninner.m3u\nmissing.pls\nb.mp4\n", to: "outer.m3u")
        #expect(
            try addresses(outer)
                == ["a.mp4", "x.mp4", "missing.pls", "b.mp4"].map(folder.path))
    }

    @Test func aPlaylistThatContainsItselfIsRefused() throws {
        let list = folder.write("film.mp4\nself.m3u\n", to: "self.m3u")
        #expect(refusal(list).contains("contains itself"))
        // Indirectly and under another name.
        folder.write("link.m3u\n", to: "b.m3u")
        let first = folder.write("b.m3u\n", to: "a.m3u")
        try FileManager.default.createSymbolicLink(atPath: folder.path("link.m3u"), withDestinationPath: first)
        #expect(refusal(first).contains("contains itself"))
    }

    @Test func theSamePlaylistTwiceIsNoCircle() throws {
        folder.write("x.mp4\n", to: "inner.m3u")
        let outer = folder.write("inner.m3u\ninner.m3u\n", to: "outer.m3u")
        #expect(try addresses(outer) == [folder.path("x.mp4"), folder.path("x.mp4")])
    }

    @Test func depthAndNumberAreBounded() throws {
        for level in 0..<20 { folder.write("\(level + 1).m3u\n", to: "\(level).m3u") }
        #expect(refusal(folder.path("0.m3u")).contains("deep"))
        // Nested playlists without items: 100^4 openings without a limit.
        folder.write("#\n", to: "leaf.m3u")
        folder.write(String(repeating: "leaf.m3u\n", count: 100), to: "l1.m3u")
        folder.write(String(repeating: "l1.m3u\n", count: 100), to: "l2.m3u")
        folder.write(String(repeating: "l2.m3u\n", count: 100), to: "l3.m3u")
        #expect(refusal(folder.path("l3.m3u")).contains("playlists"))
        let long = folder.write(String(repeating: "a.mp4\n", count: 20_000), to: "long.m3u")
        let loader = try PlaylistLoader([long])
        #expect(loader.items.count == PlaylistLoader.maxItems)
        #expect(loader.warnings.count == 1)
    }

    @Test func oneBadNameAmongSeveralCostsOnlyItself() throws {
        let film = folder.write("x", to: "a.mp4")
        let loader = try PlaylistLoader([folder.path("missing"), film])
        #expect(loader.items.map(\.address) == [film])
        #expect(loader.failures.map(\.code) == [.cannotOpen])
        #expect(refusal(folder.path("missing")).contains("there is no file"))
        #expect(refusal(folder.path("m1"), folder.path("m2")).contains("none of the given files"))
        #expect(mkdir(folder.path("none"), 0o700) == 0)
        #expect(refusal(folder.path("none")).contains("contains no films, recordings or pictures"))
        #expect(refusal(folder.write("#EXTM3U\n", to: "empty.m3u")).contains("contains no films"))
    }

    @Test func aPipeIsNotReadToSeeWhetherItIsAPlaylist() throws {
        #expect(mkfifo(folder.path("pipe.m3u"), 0o600) == 0)
        #expect(try addresses(folder.path("pipe.m3u")) == [folder.path("pipe.m3u")])
    }

    @Test(arguments: [
        "tcp://0.0.0.0:8181?listen=1", "udp://0.0.0.0:5399", "udp://@192.0.2.7:5399", "rtp://127.0.0.1:5004",
        "rtp://[fe80::1]:5004", "srt://0.0.0.0:9000?mode=listener", "rtmp://0.0.0.0/live?listen=1",
        "TCP://0.0.0.0:8181?timeout=1&listen", "tls://192.0.2.7:443?verify=0", "/dev/zero", "/dev/../dev/zero",
        "tls://192.0.2.7:443?cafile=/etc/shadow", "tls://192.0.2.7:443?timeout=1&cert=/etc/shadow&key=/etc/shadow",
        "tls://192.0.2.7?listen", "udp://@239.1.1.1:1234?localport=5399", "rtp://239.1.1.1:5004?localrtpport=5399",
        "rtp://239.1.1.1:5004?fec=prompeg", "srt://example.org:9000?mode=rendezvous", "srt://example.org?x=1",
        "tcp://192.0.2.7:80?local_port=5399", "rtsp://192.0.2.7/x?listen=1",
    ])
    func aListOpensNoListenerAndNoDevice(_ entry: String) throws {
        let film = folder.write("film", to: "film.mkv")
        let list = folder.write("#EXTM3U\n\(entry)\nfilm.mkv\n", to: "list.m3u")
        let loader = try PlaylistLoader([list])
        #expect(loader.items.map(\.address) == [film])
        #expect(loader.warnings.count == 1 && loader.warnings[0].contains("is skipped"))
        // On the command line the address is allowed.
        if entry.contains("://") { #expect(try addresses(entry) == [entry]) }
    }

    @Test(arguments: [
        "udp://@239.1.1.1:1234", "rtp://239.1.1.1:5004", "udp://[ff3e::1]:1234", "https://example.org/a.mkv?listen=1",
        "srt://example.org:9000?mode=caller", "rtsp://camera/stream", "tcp://192.0.2.7:8000",
        "udp://@239.1.1.1:1234?pkt_size=1316&localaddr=192.0.2.1", "rtsp://camera/live?channel=1&subtype=0",
        "srt://example.org:9000?latency=200&passphrase=0123456789",
    ])
    func televisionAndServersOfAListArePlayed(_ entry: String) throws {
        #expect(try addresses(folder.write("#EXTM3U\n\(entry)\n", to: "list.m3u")) == [entry])
    }

    @Test func aListOpensRegularFilesOnly() throws {
        let pipe = folder.path("pipe.mkv")
        try #require(mkfifo(pipe, 0o600) == 0 && symlink(pipe, folder.path("link.mkv")) == 0)
        let film = folder.write("film", to: "film.mkv")
        let list = folder.write("pipe.mkv\nlink.mkv\n/dev/null\nfilm.mkv\nlater.mkv\n", to: "list.m3u")
        let loader = try PlaylistLoader([list])
        #expect(loader.items.map(\.address) == [film, folder.path("later.mkv")])
        #expect(loader.warnings.count == 3 && loader.warnings.allSatisfy { $0.contains("regular files only") })
        let pipes = folder.write("pipe.mkv\nlink.mkv\n", to: "pipes.m3u")
        #expect(refusal(pipes).contains("pipes.m3u' contains no films (a playlist opens regular files only"))
        #expect(refusal(folder.path("m1"), folder.path("m2")).contains("(there is no file"))
        // A file that a pipe replaces later is checked where it is opened.
        #expect(loader.items.allSatisfy(\.isListed) && loader.items.map { QueueItem($0) }.allSatisfy(\.isListed))
        // On the command line both are allowed; another program names them like a list.
        #expect(try PlaylistLoader([pipe]).items.map(\.isListed) == [false])
        for word in [pipe, "file://" + folder.path("link.mkv"), "/dev/zero", "tcp://0.0.0.0:1?listen"] {
            let error = #expect(throws: TalkieError.self) { try PlaylistLoader([word], isListed: true) }
            #expect(error?.code == .notPermitted, "\(word)")
        }
        #expect(try PlaylistLoader([film], isListed: true).items.map(\.isListed) == [true])
        // The files of a folder are checked where they are opened.
        #expect(try PlaylistLoader([folder.path("")], isListed: true).items.map(\.isListed).allSatisfy { $0 })
        #expect(try PlaylistLoader([folder.path("")]).items.map(\.isListed).allSatisfy { !$0 })
    }

    @Test func aListThatCannotBeReadCompletelyIsAnErrorAndNoShorterList() throws {
        let lines = String(repeating: "film.mkv\n", count: 2000)
        let list = folder.write("#EXTM3U\n" + lines, to: "list.m3u")
        let broken: FileBytes.Read = { descriptor, buffer, count in
            guard lseek(descriptor, 0, SEEK_CUR) >= 4096 else { return read(descriptor, buffer, count) }
            errno = EIO
            return -1
        }
        let error = #expect(throws: TalkieError.self) { try PlaylistLoader([list], by: broken) }
        #expect(error?.code == .cannotOpen && error?.message.contains("cannot be read") == true)
        // A text that is no list is opened as a film, which reports the error.
        let text = folder.write(lines, to: "film.srt")
        #expect(try PlaylistLoader([text], by: broken).items.map(\.address) == [text])
    }

    /// A list may name another one hundreds of times.
    @Test func theWorkOnAllListsTogetherIsBounded() throws {
        let comment = "#" + String(repeating: "-", count: 99) + "\n"
        for (line, count, reason) in [
            (comment, 30_000, "larger than 8 MB together"), ("#\n", 200_000, "more than 250000 lines"),
        ] {
            folder.write("#EXTM3U\n" + String(repeating: line, count: count), to: "inner.m3u")
            let list = folder.write(String(repeating: "inner.m3u\n", count: 400), to: "outer.m3u")
            #expect(refusal(list).contains(reason))
        }
    }

    @Test func omittedItemsOfALongListAreSummarized() throws {
        let lines = (0..<3000).map { "udp://0.0.0.0:\(1024 + $0)" }.joined(separator: "\n")
        let list = folder.write("#EXTM3U\n\(lines)\nhttp://example.org/film.mkv\n", to: "list.m3u")
        let loader = try PlaylistLoader([list])
        #expect(loader.items.count == 1 && loader.warnings.count == 6)
    }
}
