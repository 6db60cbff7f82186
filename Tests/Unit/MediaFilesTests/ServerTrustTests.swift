import Glibc
import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

/// Films from https servers, some with invalid certificates. Every server is on this machine.
@Suite struct ServerTrustTests {
    /// A web server, a TLS proxy in front of it, and the authority that signs its certificate.
    private final class House {
        let folder = TemporaryFolder()
        let strangers = TemporaryFolder()
        let web: TinyWebServer
        let front: TLSFront
        let trust: ServerTrust
        let film: String
        let piece: String

        /// - Parameters:
        ///   - show: the server's certificate; nil is one signed by an unknown authority.
        ///   - isReplaced: from the second connection on another server responds.
        init(
            _ show: (TestAuthority) throws -> TestAuthority.Identity? = { try $0.sign("right") },
            isReplaced: Bool = false
        ) throws {
            let authority = try TestAuthority(in: folder.path)
            let stranger = try TestAuthority(in: strangers.path).sign("stranger")
            web = try TinyWebServer(serving: folder.path)
            front = try TLSFront(
                to: web.port, as: try show(authority) ?? stranger, later: isReplaced ? stranger : nil)
            trust = try .system(and: authority.certificate)
            let film = try TestClips.flashAndBeep(
                "net.mp4", "-c:v libx264 -g 25 -c:a aac -movflags +faststart", seconds: 6)
            let piece = try TestClips.flashAndBeep("piece.ts", "-c:v libx264 -g 25 -c:a aac -f mpegts", seconds: 2)
            (self.film, self.piece) = ("film.mp4", "piece.ts")
            symlink(film, folder.path(self.film))
            symlink(piece, folder.path(self.piece))
        }

        func serve(_ name: String, _ clip: String) throws {
            try #require(symlink(clip, folder.path(name)) == 0)
        }

        deinit {
            front.stop()
            web.stop()
        }

        /// Returns a TLS server whose certificate is signed by an unknown authority.
        func stranger() throws -> TLSFront {
            try TLSFront(to: web.port, as: TestAuthority(in: strangers.path).sign("other"))
        }

        /// Creates a playlist of segments, served next to the films.
        func playlist(_ name: String, _ pieces: String..., head: String = "") throws -> String {
            let text =
                "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:6\n" + head
                + pieces.map { "#EXTINF:6,\n\($0)\n" }.joined() + "#EXT-X-ENDLIST\n"
            try folder.write(Array(text.utf8), to: name + ".m3u8")
            return name + ".m3u8"
        }
    }

    private func refusal(_ url: String, _ trust: ServerTrust) -> MediaError? {
        var options = ReadOptions()
        options.trust = trust
        do throws(MediaError) {
            let film = try MediaFile.open(url, options: options)
            let reader = try film.reader(for: film.summary.tracks[0])
            while try reader.read() != nil {}
            return nil
        } catch { return error }
    }

    private func expectRefused(_ url: String, _ trust: ServerTrust, _ words: String = "has no trusted certificate") {
        let error = refusal(url, trust)
        #expect(error?.code == .untrusted, "\(error?.message ?? "played")")
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "played")")
    }

    @Test func aServerThatAnAuthorityVouchesForIsPlayed() throws {
        let house = try House()
        #expect(refusal(house.front.url(house.film), house.trust) == nil)
        #expect(refusal(house.front.url(house.film, host: "127.0.0.1"), house.trust) == nil)
        #expect(refusal(house.front.url("moved/" + house.film), house.trust) == nil)
    }

    @Test func aSelfSignedServerIsRefusedUnlessUnverified() throws {
        let house = try House { _ in nil }
        expectRefused(house.front.url(house.film), .system)
        expectRefused(house.front.url(house.film), house.trust)
        #expect(refusal(house.front.url(house.film), .unverified) == nil)
    }

    @Test func aServerWithAnothersNameOrAnOldCertificateIsRefused() throws {
        let other = try House { try $0.sign("other", for: "DNS:example.org") }
        expectRefused(other.front.url(other.film), other.trust, "a certificate for another server name")
        let old = try House { try $0.sign("old", isExpired: true) }
        expectRefused(old.front.url(old.film), old.trust)
    }

    @Test func aRedirectIsHeldToTheSameProof() throws {
        let house = try House()
        let stranger = try house.stranger()
        defer { stranger.stop() }
        expectRefused(house.web.url("onward/https/\(stranger.port)/" + house.film), house.trust)
        expectRefused(house.front.url("onward/https/\(stranger.port)/" + house.film), house.trust)
        #expect(refusal(house.web.url("onward/https/\(house.front.port)/" + house.film), house.trust) == nil)
    }

    @Test func aRedirectOutOfHTTPSIsRefused() throws {
        let house = try House()
        let url = house.front.url("onward/http/\(house.web.port)/" + house.film)
        expectRefused(url, house.trust, "without https")
        // Only verification is off.
        expectRefused(url, .unverified, "without https")
    }

    @Test func aConnectionInMidFilmIsHeldToTheSameProof() throws {
        let house = try House(isReplaced: true)
        // 13 MB: too large to read through, so that a seek opens a new connection.
        try house.serve(
            "large.mov",
            TestClips.flashAndBeep(
                "large.mov", "-c:v rawvideo -pix_fmt yuv420p -movflags +faststart", seconds: 6,
                size: "320x180"))
        var options = ReadOptions()
        options.trust = house.trust
        let film = try MediaFile.open(house.front.url("large.mov"), options: options)
        #expect(throws: MediaError.self) {
            let video = try film.reader(for: try #require(film.summary.track(.video)))
            for second in [5.0, 0, 4] {
                try video.seek(to: MediaTime(seconds: second), mode: .exact)
                while try video.read() != nil {}
            }
        }
    }

    @Test func piecesAndKeysOfAPlaylistAreHeldToTheSameProof() throws {
        let house = try House()
        let name = house.piece
        let stranger = try house.stranger()
        defer { stranger.stop() }
        let good = try house.playlist("good", house.front.url(name))
        #expect(refusal(house.web.url(good), house.trust) == nil)
        #expect(refusal(house.front.url(good), house.trust) == nil)
        let bad = try house.playlist("bad", stranger.url(name))
        expectRefused(house.web.url(bad), house.trust)
        expectRefused(house.front.url(bad), house.trust)
        // A rejected second segment is an error, not a silently skipped gap.
        let late = try house.playlist("late", house.front.url(name), stranger.url(name))
        expectRefused(house.front.url(late), house.trust)
        let onward = try house.playlist("onward", house.front.url("onward/http/\(house.web.port)/" + name))
        expectRefused(house.front.url(onward), house.trust, "without https")
        let plain = try house.playlist("plain", house.front.url(name), house.web.url(name))
        expectRefused(house.front.url(plain), house.trust, "without https")
        expectRefused(house.front.url(plain), .unverified, "without https")
        #expect(refusal(house.web.url(plain), house.trust) == nil)
        let key = try house.playlist(
            "key", house.front.url(name),
            head: "#EXT-X-KEY:METHOD=AES-128,URI=\"\(stranger.url(name))\"\n")
        expectRefused(house.front.url(key), house.trust)
    }

    @Test func piecesOfAManifestAreHeldToTheSameProof() throws {
        let house = try House()
        let stranger = try house.stranger()
        defer { stranger.stop() }
        func manifest(_ name: String, _ address: String) throws -> String {
            let text =
                "<MPD mediaPresentationDuration=\"PT6S\"><Period><AdaptationSet mimeType=\"video/mp4\"><Representation bandwidth=\"1\">"
                + "<BaseURL>\(address)</BaseURL></Representation></AdaptationSet></Period></MPD>"
            try house.folder.write(Array(text.utf8), to: name)
            return house.front.url(name)
        }
        #expect(refusal(try manifest("good.mpd", house.front.url(house.piece)), house.trust) == nil)
        expectRefused(try manifest("bad.mpd", stranger.url(house.piece)), house.trust)
        let plain = try manifest("plain.mpd", house.web.url(house.piece))
        expectRefused(plain, house.trust, "without https")
        expectRefused(plain, .unverified, "without https")
    }

    /// The playlist that names an address decides, not the first one of the film.
    @Test(arguments: ["segment", "key", "init section", "rendition", "upper case", "playlist in an address"])
    func aPlaylistOfAnHTTPSServerLeadsToNoHTTPWhateverLeadsToIt(_ kind: String) throws {
        let house = try House()
        let name = house.piece
        let plain = house.web.url(name)
        var pieces = [house.front.url(name)]
        var head = ""
        switch kind {
        case "segment": pieces.append(plain)
        case "key": head = "#EXT-X-KEY:METHOD=AES-128,IV=0x0,URI=\"\(plain)\"\n"
        case "init section": head = "#EXT-X-MAP:URI=\(plain)\n"
        case "upper case": pieces = [plain.replacing("http:", with: "HTTP:")]
        default: break
        }
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n" + head + pieces.map { "#EXTINF:6,\n\($0)\n" }.joined()
        try house.folder.write(Array((text + "#EXT-X-ENDLIST\n").utf8), to: "inner.m3u8")
        if kind == "rendition" {
            let text =
                "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"x\",URI=\"\(house.web.url("inner.m3u8"))\"\n"
                + "#EXT-X-STREAM-INF:BANDWIDTH=9,AUDIO=\"a\"\ninner.m3u8\n"
            try house.folder.write(Array(text.utf8), to: "master.m3u8")
            expectRefused(house.front.url("master.m3u8"), house.trust, "without https")
            return
        }
        var variant = house.front.url("inner.m3u8")
        if kind == "playlist in an address" {
            variant = "data:application/x-mpegurl,#EXTM3U%0A#EXTINF:6,%0A\(plain)%0A#EXT-X-ENDLIST"
        }
        let before = house.web.requestHeads.count
        let master = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=9\n\(variant)\n"
        let local = try house.folder.write(Array(master.utf8), to: "local.m3u8")
        for first in [local, house.web.url("local.m3u8")] {
            for trust in [house.trust, .unverified] {
                let error = refusal(first, trust)
                #expect(error != nil, "\(first)")
                if kind != "playlist in an address" { #expect(error?.code == .untrusted, "\(error?.message ?? "")") }
            }
        }
        let asked = house.web.requestHeads.dropFirst(before).filter { $0.hasPrefix("GET /\(name)") }
        // The TLS front forwards its own requests; the clear ones name the port of the web server.
        #expect(asked.allSatisfy { !$0.contains("Host: 127.0.0.1:\(house.web.port)") }, "\(asked)")
    }

    @Test(arguments: ["tcp://127.0.0.1:1?listen=1", "udp://127.0.0.1:1", "rtmp://127.0.0.1:1/live?listen=1"])
    func aPlaylistOpensNoListenersAndNoDevices(piece: String) throws {
        let house = try House()
        let name = try house.playlist("listener", piece)
        #expect(refusal(house.web.url(name), house.trust) != nil)
    }

    @Test func aProtocolThatAsksForNoProofIsRefused() throws {
        expectRefused("rtsps://127.0.0.1:1/live", .system, "cannot be authenticated")
        #expect(try #require(refusal("rtsps://127.0.0.1:1/live", .unverified)).code != .untrusted)
    }

    @Test func aFileOfAuthoritiesMustHoldSome() throws {
        let folder = TemporaryFolder()
        let empty = try folder.write(Array("nothing".utf8), to: "empty.pem")
        #expect(throws: MediaError.self) { try ServerTrust.system(and: empty) }
        #expect(throws: MediaError.self) { try ServerTrust.system(and: folder.path + "/none.pem") }
        #expect(throws: MediaError.self) { try ServerTrust.system(and: folder.path) }
        #expect(throws: MediaError.self) { try ServerTrust.system(and: "/dev/zero") }
    }
}
