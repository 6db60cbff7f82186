import Glibc
import MediaCore
import Testing

@testable import MediaFiles

/// Servers with prepared responses: each connection sends the next one and closes.
@Suite struct HTTPStreamTests {
    private final class Servers {
        var answers: [String]
        var asked: [(address: WebAddress, head: String)] = []
        init(_ answers: [String]) { self.answers = answers }

        final class Connection: WebConnection {
            let servers: Servers
            let address: WebAddress
            var bytes: ArraySlice<UInt8>
            init(_ servers: Servers, _ address: WebAddress, _ answer: String) {
                (self.servers, self.address, bytes) = (servers, address, Array(answer.utf8)[...])
            }
            func send(_ bytes: [UInt8]) -> Int32 {
                servers.asked.append((address, String(decoding: bytes, as: UTF8.self)))
                return 0
            }
            func receive(_ target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
                // Three bytes at a time, so that field boundaries fall between reads.
                let count = min(3, bytes.count, target.count)
                if count == 0 { return -541_478_725 }
                _ = target.update(fromContentsOf: bytes.prefix(count))
                bytes = bytes.dropFirst(count)
                return Int32(count)
            }
        }

        func connect(_ address: WebAddress) throws(WebFailure) -> any WebConnection {
            guard !answers.isEmpty else { throw WebFailure(code: -ECONNREFUSED) }
            return Connection(self, address, answers.removeFirst())
        }
    }

    private func options(_ fields: String = "") throws -> ReadOptions {
        var options = ReadOptions()
        options.reconnectDelays = [.zero, .zero, .zero]
        options.headerFields = try HeaderField.list(parsing: fields)
        return options
    }

    private func input(
        _ servers: Servers, _ url: String = "http://a.org/film", _ options: ReadOptions? = nil,
        range: (Int64, Int64?) = (0, nil), retriesServerErrors: Bool = false
    ) throws -> HTTPStream {
        let options = try options ?? self.options()
        let address = try #require(WebAddress(url))
        return try HTTPStream(
            address, requestBuilder: HTTPRequestBuilder(url, options), range: range,
            retriesServerErrors: retriesServerErrors,
            waiting: InterruptCallback([]),
            connect: servers.connect)
    }

    /// Returns everything read, and the error that ended reading; nil at the end of the stream.
    private func all(_ input: HTTPStream) -> (text: String, error: Int32?) {
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 7))
        while bytes.count < 10_000 {
            let got = piece.withUnsafeMutableBufferPointer { input.read(into: $0) }
            if got < 0 { return (String(decoding: bytes, as: UTF8.self), got == -541_478_725 ? nil : got) }
            bytes += piece.prefix(Int(got))
        }
        return ("endless", nil)
    }

    private func part(_ text: String, from first: Int, of total: Int, more: String = "") -> String {
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(first)-\(total - 1)/\(total)\r\n"
            + "Content-Length: \(total - first)\r\n\(more)\r\n" + text
    }

    @Test func whatIsSentInChunksIsPutTogether() throws {
        let servers = Servers([
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nabcde\r\n0b\r\nfghijklmnop\r\n0\r\n\r\n"
        ])
        let input = try input(servers)
        #expect(all(input) == ("abcdefghijklmnop", nil))
        #expect(!input.isSeekable)
    }

    @Test func anInterruptedTransferIsResumedAtItsOffset() throws {
        let servers = Servers([
            part("01234", from: 0, of: 12, more: "ETag: \"x\"\r\n"), "HTTP/1.1 503 Busy\r\n\r\n",
            part("56789ab", from: 5, of: 12),
        ])
        let input = try input(servers)
        #expect(all(input) == ("0123456789ab", nil))
        #expect(servers.asked.map { $0.head.contains("Range: bytes=5-\r\n") } == [false, true, true])
        #expect(servers.asked[2].head.contains("If-Range: \"x\"\r\n"))
    }

    @Test func aServerThatClosesBeforeItAnswersIsAskedAgain() throws {
        let servers = Servers([
            part("01234", from: 0, of: 12), "", "HTTP/1.1 206 Par", part("56789ab", from: 5, of: 12),
        ])
        #expect(all(try input(servers)) == ("0123456789ab", nil))
        #expect(servers.asked.count == 4)
    }

    @Test func aServerThatStaysAwayTimesOut() throws {
        let servers = Servers(
            [part("01234", from: 0, of: 12)] + Array(repeating: "HTTP/1.1 503 Busy\r\n\r\n", count: 50))
        let (text, error) = all(try input(servers))
        #expect(text == "01234" && error != nil)
        // The read that failed tried three times.
        #expect(servers.asked.count == 4)
    }

    @Test func aPermanentRefusalIsNotRetried() throws {
        let servers = Servers([part("01234", from: 0, of: 12)] + Array(repeating: "HTTP/1.1 403 No\r\n\r\n", count: 5))
        _ = all(try input(servers))
        #expect(servers.asked.count == 2)
    }

    @Test func aFileThatChangedIsNotJoinedToWhatItWas() throws {
        for second in [
            part("567", from: 5, of: 8), part("0123", from: 0, of: 12),
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxyz", "HTTP/1.1 416 No\r\nContent-Range: bytes */5\r\n\r\n",
        ] {
            let servers = Servers([part("01234", from: 0, of: 12), second])
            let (text, error) = all(try input(servers))
            #expect(text == "01234" && error != nil)
        }
    }

    @Test func anotherPlaceIsAskedForAndAShortWayIsRead() throws {
        let servers = Servers([part("0123456789ab", from: 0, of: 12), part("23456789ab", from: 2, of: 12)])
        let input = try input(servers)
        #expect(input.isSeekable && input.length == 12)
        #expect(input.seek(to: 8) == 8)
        #expect(all(input) == ("89ab", nil))
        #expect(servers.asked.count == 1)
        #expect(input.seek(to: 2) == 2)
        #expect(all(input) == ("23456789ab", nil))
        #expect(servers.asked.count == 2)
    }

    @Test func aPieceOfAFileIsNoMoreThanThat() throws {
        let servers = Servers([
            "HTTP/1.1 206 P\r\nContent-Range: bytes 4-7/12\r\nContent-Length: 4\r\n\r\n4567"
        ])
        let input = try input(servers, range: (4, 8))
        #expect(input.length == 4 && all(input) == ("4567", nil))
        #expect(servers.asked[0].head.contains("Range: bytes=4-7\r\n"))
    }

    // MARK: Partial responses

    /// A response with less than was requested: its range ends with its text.
    private func shortPart(_ text: String, from first: Int, of total: String = "12", isChunked: Bool = false) -> String
    {
        let count = text.utf8.count
        let chunk = count == 0 ? "" : "\(String(count, radix: 16))\r\n\(text)\r\n"
        return "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(first)-\(first + count - 1)/\(total)\r\n"
            + (isChunked
                ? "Transfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n" : "Content-Length: \(count)\r\n\r\n\(text)")
    }

    private func ranges(_ servers: Servers) -> [Substring] {
        servers.asked.map { $0.head.split(separator: "bytes=")[1].prefix { !$0.isNewline } }
    }

    @Test func aPartialResponseIsNotTheEndOfTheFile() throws {
        let servers = Servers([shortPart("01234", from: 0), shortPart("567", from: 5), shortPart("89ab", from: 8)])
        var options = try self.options()
        // The next request is no reconnection.
        options.reconnectDelays = []
        #expect(all(try input(servers, "http://a.org/film", options)) == ("0123456789ab", nil))
        #expect(ranges(servers) == ["0-", "5-", "8-"])
        let chunked = Servers([
            shortPart("01234", from: 0, isChunked: true), shortPart("56789ab", from: 5, isChunked: true),
        ])
        #expect(all(try input(chunked)) == ("0123456789ab", nil))
        #expect(ranges(chunked) == ["0-", "5-"])
    }

    @Test(arguments: ["12", "*"]) func aPartialResponseIsNotTheEndOfARange(_ total: String) throws {
        let servers = Servers([shortPart("45", from: 4, of: total), shortPart("678", from: 6, of: total)])
        #expect(all(try input(servers, range: (4, 9))) == ("45678", nil))
        #expect(ranges(servers) == ["4-8", "6-8"])
    }

    @Test func aRangeEndsWithTheFile() throws {
        let servers = Servers([shortPart("456789ab", from: 4), shortPart("", from: 12)])
        #expect(all(try input(servers, range: (4, 20))) == ("456789ab", nil))
        #expect(ranges(servers) == ["4-19"])
    }

    @Test func aSeekBeyondAPartialResponseIsRequested() throws {
        let servers = Servers([shortPart("01234", from: 0), shortPart("89ab", from: 8)])
        let input = try input(servers)
        #expect(input.seek(to: 8) == 8)
        #expect(all(input) == ("89ab", nil))
        #expect(ranges(servers) == ["0-", "8-"])
    }

    @Test(arguments: [false, true]) func emptyPartialResponsesEndWithAnError(_ isChunked: Bool) throws {
        let servers = Servers(
            [shortPart("01234", from: 0)] + Array(repeating: shortPart("", from: 5, isChunked: isChunked), count: 50))
        let (text, error) = all(try input(servers))
        #expect(text == "01234" && error != nil)
        // The next request and three retries.
        #expect(servers.asked.count == 5)
    }

    // MARK: Expired redirects

    private let refusal = "HTTP/1.1 403 Expired\r\n\r\n"

    private func targets(_ servers: Servers) -> [String] { servers.asked.map(\.address.target) }

    @Test(arguments: [400, 401, 403, 404, 410]) func anExpiredRedirectIsReplaced(_ status: Int) throws {
        let servers = Servers([
            onward("/a"), part("01234", from: 0, of: 12), "HTTP/1.1 \(status) Expired\r\n\r\n", onward("/b"),
            part("56789ab", from: 5, of: 12),
        ])
        #expect(all(try input(servers)) == ("0123456789ab", nil))
        #expect(targets(servers) == ["/film", "/a", "/a", "/film", "/b"])
    }

    @Test func anotherConnectionReplacesAnExpiredRedirect() throws {
        let servers = Servers([
            onward("/a"), part("0123456789ab", from: 0, of: 12), refusal, onward("/b"),
            part("0123456789ab", from: 0, of: 12),
        ])
        let identity = try #require(try input(servers).identity)
        let other = HTTPStream(
            identity, requestBuilder: HTTPRequestBuilder("http://a.org/film", try options()),
            waiting: InterruptCallback([]), connect: servers.connect)
        #expect(all(other) == ("0123456789ab", nil))
        #expect(targets(servers) == ["/film", "/a", "/a", "/film", "/b"])
    }

    @Test func aRefusalByTheRequestedAddressIsPermanent() throws {
        let opening = Servers([onward("/a")] + Array(repeating: refusal, count: 5))
        #expect(throws: WebFailure.self) { try input(opening) }
        #expect(targets(opening) == ["/film", "/a"])
        for answers in [[refusal], [onward("/b"), refusal]] {
            let servers = Servers(
                [onward("/a"), part("01234", from: 0, of: 12), refusal] + answers
                    + Array(repeating: refusal, count: 5))
            let (text, error) = all(try input(servers))
            #expect(text == "01234" && error != nil)
            #expect(targets(servers) == ["/film", "/a", "/a", "/film"] + (answers.count == 1 ? [] : ["/b"]))
        }
    }

    @Test func anotherFileAtANewTargetIsNotJoined() throws {
        let servers = Servers([
            onward("/a"), part("01234", from: 0, of: 12, more: "ETag: \"x\"\r\n"), refusal, onward("/b"),
            part("56789ab", from: 5, of: 12, more: "ETag: \"y\"\r\n"),
        ])
        let (text, error) = all(try input(servers))
        #expect(text == "01234" && error != nil)
        #expect(servers.asked.count == 5)
    }

    // MARK: Secrets

    private let secrets = "Authorization: Bearer me,X-Key: k,Accept-Language: de"

    private func onward(_ to: String) -> String { "HTTP/1.1 302 Found\r\nLocation: \(to)\r\n\r\n" }

    @Test(arguments: [
        ("http://b.org/film", false), ("http://a.org:81/film", false), ("/other", true), ("https://a.org/film", true),
        ("//b.org/film", false),
    ]) func secretsGoToTheServerTheyAreForOnly(_ to: String, _ isHome: Bool) throws {
        let servers = Servers([onward(to), part("x", from: 0, of: 1)])
        var options = try self.options(secrets)
        (options.userAgent, options.referrer) = ("Me", "http://page.org/")
        let jar = CookieJar { 0 }
        for domain in ["a.org", "b.org"] {
            jar.add(.init(name: "from", value: domain, domain: domain, isHostOnly: true, path: "/", isSecure: false))
        }
        options.cookies = jar
        _ = try input(servers, "http://a.org/film", options)
        let head = servers.asked[1].head
        #expect(servers.asked[0].head.contains("Authorization: Bearer me\r\n"))
        #expect(head.contains("Authorization") == isHome && head.contains("X-Key") == isHome)
        #expect(head.contains("Accept-Language: de\r\n") && head.contains("User-Agent: Me\r\n"))
        #expect(head.contains("Referer: http://page.org/\r\n"))
        #expect(head.contains("Cookie: from=\(servers.asked[1].address.host)\r\n"))
    }

    @Test func aRedirectOutOfHTTPSIsNotEvenAsked() throws {
        let servers = Servers([onward("http://a.org/film"), part("x", from: 0, of: 1)])
        #expect(throws: WebFailure.self) { try input(servers, "https://a.org/film", try self.options(secrets)) }
        #expect(servers.asked.count == 1)
        // With verification disabled the redirect is followed, without secrets.
        // Without verification the film still stays on https.
        let trusting = Servers([onward("http://a.org/film"), part("x", from: 0, of: 1)])
        var options = try self.options(secrets)
        (options.trust, options.referrer) = (.unverified, "https://page.org/")
        #expect(throws: WebFailure.self) { try input(trusting, "https://a.org/film", options) }
        #expect(trusting.asked.count == 1)
    }

    @Test func aNameAndPasswordOfAnAddressAnswerAChallenge() throws {
        let basic = Servers([
            "HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\r\n", part("x", from: 0, of: 1),
        ])
        _ = try input(basic, "http://anna:secret@a.org/film")
        #expect(!basic.asked[0].head.contains("Authorization"))
        #expect(basic.asked[1].head.contains("Authorization: Basic YW5uYTpzZWNyZXQ=\r\n"))
        let digest = Servers([
            "HTTP/1.1 401 Who\r\nWWW-Authenticate: Digest realm=\"r, 1\", nonce=\"n\", qop=\"auth\"\r\n\r\n",
            part("x", from: 0, of: 1),
        ])
        _ = try input(digest, "http://anna:secret@a.org/film")
        let head = digest.asked[1].head
        #expect(
            head.contains("Digest username=\"anna\", realm=\"r, 1\", nonce=\"n\", uri=\"/film\"")
                && !head.contains("secret"))
        let stranger = Servers([onward("http://b.org/"), "HTTP/1.1 401 Who\r\n\r\n"])
        #expect(throws: WebFailure.self) { try input(stranger, "http://anna:secret@a.org/film") }
    }

    /// RFC 7616, 3.9.1, without `qop`, whose response contains a random number.
    @Test func digestWithSHA256IsPreferredToWeakerMethods() throws {
        let servers = Servers([
            "HTTP/1.1 401 Who\r\nWWW-Authenticate: Negotiate, Basic realm=\"x\"\r\n"
                + "WWW-Authenticate: Digest realm=\"a, b\", nonce=\"n\", algorithm=MD5,"
                + " Digest realm = \"http-auth@example.org\", algorithm=SHA-256, opaque=\"a\\\"b\","
                + " nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\"\r\n\r\n",
            part("x", from: 0, of: 1),
        ])
        _ = try input(servers, "http://Mufasa:Circle%20of%20Life@a.org/dir/index.html")
        let head = servers.asked[1].head
        #expect(head.contains("Authorization: Digest username=\"Mufasa\", realm=\"http-auth@example.org\""), "\(head)")
        #expect(head.contains("algorithm=SHA-256") && head.contains("opaque=\"a\\\"b\""), "\(head)")
        #expect(
            head.contains("response=\"a1306b0595a6c7fe96c448631fb5cfbd5107bd1fe1da729d978dd7446b812363\""), "\(head)")
    }

    @Test(arguments: [
        "", "NTLM", "Negotiate", "Bearer realm=\"x\"", "Digest realm=\"x\", nonce=\"n\", algorithm=SHA-512-256",
        "Digest realm=\"x\", nonce=\"n\", qop=\"auth-int\"", "Digest realm=\"x\", nonce=\"n\", algorithm=MD5-sess",
    ])
    func anotherChallengeReceivesNoPassword(_ challenge: String) throws {
        let field = challenge.isEmpty ? "" : "WWW-Authenticate: \(challenge)\r\n"
        let servers = Servers(["HTTP/1.1 401 Who\r\n\(field)\r\n", part("x", from: 0, of: 1)])
        let failure = #expect(throws: WebFailure.self) { try input(servers, "http://anna:secret@a.org/film") }
        #expect(failure?.unauthorized?.wasAnswered == false)
        #expect(servers.asked.count == 1 && !servers.asked[0].head.contains("Authorization"))
        let methods = try #require(failure?.unauthorized?.methods)
        #expect(methods.isEmpty == challenge.isEmpty && challenge.hasPrefix(methods.prefix { $0 != " " }))
        let address = try #require(WebAddress("http://a.org/film"))
        let error = ReadingErrors.unauthorized(address, methods, hasCredentials: true, wasAnswered: false)
        #expect(error.code == .notPermitted && error.message.contains("401") && error.message.contains("not sent"))
    }

    // MARK: Positions beyond all files

    private static let extremes: [Int64] = [1 << 62, -(1 << 62), .max, -.max, .min]

    /// `#EXT-X-MAP` with `BYTERANGE="1000@9223372036854775800"`, with a response of exactly that range.
    @Test(arguments: [9_223_372_036_854_775_800, 1 << 62, Int64.max - 1] as [Int64])
    func aRangeThatEndsBeyondAllFilesIsRefused(_ first: Int64) throws {
        let text =
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(first)-\(Int64.max - 1)/\(Int64.max)\r\n"
            + "Content-Length: 3\r\n\r\nabc"
        #expect(throws: WebFailure.self) { try input(Servers([text]), range: (first, .max)) }
        #expect(throws: WebFailure.self) { try input(Servers([text]), range: (0, .max)) }
    }

    @Test(arguments: extremes) func aSeekBeyondAllFilesIsRefused(_ place: Int64) throws {
        for range: (Int64, Int64?) in [(0, nil), (7, nil), (7, 12), (InputLimit.maxBytes, nil)] {
            let (first, total) = (range.0, InputLimit.maxBytes)
            let servers = Servers(
                Array(
                    repeating: "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(first)-\(total - 1)/\(total)\r\n"
                        + "Content-Length: \(total - first)\r\n\r\nabcdef", count: 9))
            guard let input = try? input(servers, range: range) else { continue }
            #expect(input.seek(to: place) < 0)
            _ = input.seek(to: InputLimit.maxBytes - first)
            #expect(all(input).error != 0)
        }
    }

    @Test(arguments: extremes) func answersWithSuchNumbersDoNotTrap(_ number: Int64) throws {
        for field in [
            "Content-Length: \(number)", "Content-Range: bytes \(number)-\(number)/\(number)",
            "Content-Range: bytes 0-9/\(number)",
        ] {
            for status in [200, 206, 416] {
                let servers = Servers(Array(repeating: "HTTP/1.1 \(status) X\r\n\(field)\r\n\r\nabc", count: 9))
                guard let input = try? input(servers, retriesServerErrors: true) else { continue }
                _ = all(input)
                _ = input.seek(to: number)
                _ = all(input)
            }
        }
        let chunks = Servers(["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nabc"])
        #expect(all(try input(chunks)).error != nil)
    }

    // MARK: Misbehaving servers

    @Test func aServerThatSendsInACircleOrWithoutEndIsLeft() throws {
        let circle = Servers(Array(repeating: onward("/film"), count: 50))
        #expect(throws: WebFailure.self) { try input(circle) }
        #expect(circle.asked.count <= 10)
        for head in [
            String(repeating: "HTTP/1.1 200 OK\r\nX: y\r\n", count: 9000), "no server\r\n\r\n",
            "HTTP/1.1 999 X\r\n\r\n", "",
        ] {
            #expect(throws: WebFailure.self) { try input(Servers([head])) }
        }
        let chunks = Servers([
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + String(repeating: "z", count: 2000)
        ])
        #expect(all(try input(chunks)).error != nil)
    }
}
