import Foundation
import Glibc
import MediaCore
import Playback
import RemoteTestSupport
import Sockets
import Testing

@testable import Remote

/// The page on loopback, accessed by sockets.
@Suite struct RemotePageTests {
    private let rig: RemotePageRig

    init() throws { rig = try RemotePageRig() }

    // MARK: Access

    @Test func thePageIsServedUnderItsWholeLinkOnly() throws {
        let page = try rig.request("GET", rig.path)
        #expect(page.status == 200 && page.head.contains("Content-Type: text/html; charset=utf-8"))
        #expect(page.head.contains("default-src 'none'") && page.head.contains("Referrer-Policy: no-referrer"))
        #expect(page.text.hasPrefix("<!doctype html>") && page.text.hasSuffix("</html>"))
        #expect(try rig.request("HEAD", rig.path).body.isEmpty)
        let token = rig.path.dropFirst().dropLast()
        let wrong = String(token.dropLast()) + (token.last == "A" ? "B" : "A")
        for path in ["/", "//", "/\(token)", "/\(wrong)/", "/\(token.dropLast())/", "/\(token)A/", "/x/\(token)/"] {
            #expect(try rig.request("GET", path).status == 403, "\(path)")
        }
        for name in ["events", "screenshot.png"] {
            #expect(try rig.request("GET", "/\(wrong)/\(name)").status == 403, "\(name)")
        }
        #expect(try rig.request("POST", "/\(wrong)/command", body: "[\"cycle\",\"pause\"]").status == 403)
        #expect(rig.player.takeCommands() == [])
        #expect(try rig.request("GET", rig.path + "other").status == 404)
        #expect(try rig.request("PUT", rig.path).status == 405)
        #expect(try rig.request("GET", rig.path + "command").status == 405)
    }

    @Test func aForeignNameIsRefusedWithTheAddressToUse() throws {
        let own = LocalAddresses.hostName
        #expect(try rig.request("GET", rig.path, host: "\(own):\(rig.port)").status == 200)
        for host in ["\(own).evil.example:\(rig.port)", "evil.example", "127.0.0.1.evil.example", ":1"] {
            let refused = try rig.request("GET", rig.path, host: host)
            #expect(refused.status == 403 && refused.text.contains("open the link as it was printed"), "\(host)")
        }
    }

    @Test func aTitleNamesNoFolderAndNoServer() throws {
        for (value, shown) in [
            ("/srv/private/film.mkv", "film.mkv"), ("https://a.org/b/film.mkv?token=1", "film.mkv"), ("Film", "Film"),
        ] {
            #expect(RemotePageState.shown("media-title", .text(value)) == .text(shown))
        }
    }

    /// Without memory for a thread the page would otherwise never change.
    @Test func observationsThatFailAreTriedAgain() throws {
        let (listener, player) = (try TCPListener(address: RemotePageRig.loopback), TablePlayer())
        defer { player.control.close() }
        let failures = Lock(3)
        let token = AccessToken()
        let page = try RemotePage.start(
            on: listener, token: token, control: player.control, timeout: .seconds(120),
            observe: { (control, name, body) throws(ControlError) in
                let fails = failures.withLock { left in
                    left -= 1
                    return left >= 0
                }
                if fails { throw ControlError(.failed, "no thread") }
                return try control.observe(name, body)
            })
        defer { page.close() }
        let socket = try TCPSocket.connect(
            to: RemotePageRig.loopback, port: listener.port, deadline: .now.advanced(by: .seconds(60)))
        let path = token.link(to: HTTPAddress(address: RemotePageRig.loopback, port: listener.port))
        let target = path.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }
        let head = "GET \(target)events HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\n\r\n"
        try socket.sendAll(Array(head.utf8), deadline: .now.advanced(by: .seconds(60)))
        // The values at the start, and again once they are observed.
        var (text, buffer) = ("", [UInt8](repeating: 0, count: 1 << 16))
        let deadline = HostInstant.now.advanced(by: .seconds(60))
        while text.components(separatedBy: "data: ").count < 3, HostInstant.now < deadline {
            let count = read(socket.descriptor, &buffer, buffer.count)
            if count > 0 { text += String(decoding: buffer[..<count], as: UTF8.self) }
            if count == 0 { break }
        }
        #expect(text.components(separatedBy: "data: ").count >= 3, "\(text)")
    }

    @Test func otherWebPagesCanNeitherReadNorCommand() throws {
        let own = "Origin: http://127.0.0.1:\(rig.port)"
        #expect(try rig.request("GET", rig.path, host: "evil.example").status == 403, "DNS rebinding")
        #expect(try rig.request("GET", rig.path, host: "LocalHost:1").status == 200)
        for origin in ["http://evil.example", "http://127.0.0.1", "https://127.0.0.1:\(rig.port)", "null"] {
            let fields = ["Origin: " + origin]
            for name in ["", "events", "screenshot.png"] {
                #expect(try rig.request("GET", rig.path + name, fields).status == 403, "\(origin) \(name)")
            }
            #expect(try rig.command("[\"cycle\",\"pause\"]", fields).status == 403, "\(origin)")
        }
        // An image that another page shows has no `Origin`.
        for site in ["cross-site", "same-site"] {
            #expect(try rig.request("GET", rig.path + "screenshot.png", ["Sec-Fetch-Site: \(site)"]).status == 403)
        }
        #expect(try rig.request("GET", rig.path, ["Sec-Fetch-Site: none"]).status == 200)
        #expect(rig.player.takeCommands() == [])
        #expect(try rig.command("[\"cycle\",\"pause\"]", [own]).status == 200)
        #expect(rig.player.takeCommands() == ["cycle pause"])
    }

    // MARK: Commands

    @Test func commandsAreExecutedAndTheirResultsReturned() throws {
        let done = try rig.command(#"["set","pause",true]"#)
        #expect(done.status == 200 && done.text == #"{"data":null}"#)
        #expect(try rig.command(#"["seek",12.5,"absolute"]"#).status == 200)
        #expect(rig.player.takeCommands() == ["set pause yes", "seek 12.5 absolute"])
        rig.player.refuse(ControlError(.unavailable, "this is the last film"))
        let refused = try rig.command(#"["playlist-next"]"#)
        #expect(refused.status == 409 && refused.text == #"{"error":"this is the last film"}"#)
    }

    @Test(arguments: [
        ("", 400), ("{", 400), ("{}", 400), ("[]", 400), ("[1]", 400), (#"["explode"]"#, 400),
        (#"["seek","far"]"#, 400),
        (#"["set","duration",1]"#, 400), (#"["set","volume",1e9]"#, 400), (#"["set","volume",[[[[]]]]]"#, 400),
        ("[\"seek\"" + String(repeating: ",1", count: 1000) + "]", 400), (#"["quit"]"#, 403), (#"["stop"]"#, 403),
        (#"["loadfile","/etc/passwd"]"#, 403), (#"["no-osd","quit"]"#, 403), (#"["playlist-clear"]"#, 403),
    ])
    func otherCommandsAreRefused(body: String, status: Int) throws {
        let response = try rig.command(body)
        #expect(response.status == status && response.text.hasPrefix(#"{"error":""#), "\(response.text)")
        #expect(rig.player.takeCommands() == [])
    }

    @Test func aThousandCommandsAreExecutedInOrder() throws {
        for index in 0..<1000 {
            #expect(try rig.command("[\"set\",\"volume\",\(index % 100)]").status == 200)
        }
        #expect(rig.player.takeCommands() == (0..<1000).map { "set volume \($0 % 100)" })
    }

    @Test func aBurstOfConnectionsDelaysNoOther() throws {
        // Twice as many as are served at once; a full backlog delays each further one by a second (RFC 6298, 2.1).
        let burst = try (0..<64).map { _ in
            try rig.send("POST", rig.path + "command", body: #"["cycle","mute"]"#)
        }
        #expect(try rig.command(#"["set","pause",true]"#).status == 200)
        for socket in burst { _ = RemotePageRig.rest(of: socket) }
        #expect(rig.player.takeCommands().count <= 65)
    }

    @Test(arguments: ["Content-Length: 10000000", "Transfer-Encoding: chunked"])
    func aRequestOfTenMegabytesIsRefused(field: String) throws {
        let socket = try rig.send("POST", rig.path + "command", [field])
        let bytes = [UInt8](repeating: UInt8(ascii: "["), count: 64 << 10)
        let block = field.hasPrefix("T") ? Array("10000\r\n".utf8) + bytes + [13, 10] : bytes
        // Until the server closes the connection.
        var sent = 0
        while sent < 100_000_000, socket.sendCompletely(block, until: .now.advanced(by: .seconds(60))) {
            sent += block.count
        }
        #expect(sent < 100_000_000)
        #expect(try rig.command(#"["set","pause",true]"#).status == 200)
        #expect(rig.player.takeCommands() == ["set pause yes"])
    }

    @Test func aCommandThatWaitsIsAnsweredAtTheEnd() throws {
        rig.player.hold()
        let socket = try rig.send("POST", rig.path + "command", body: #"["cycle","pause"]"#)
        let deadline = HostInstant.now.advanced(by: .seconds(60))
        while rig.player.heldCount == 0, .now < deadline { HostInstant.now.advanced(by: .milliseconds(1)).sleep() }
        rig.page.close()
        #expect(RemotePageRig.Response(RemotePageRig.rest(of: socket)).status == 503)
        rig.player.release()
    }

    // MARK: Events

    @Test func anOpenedPageReceivesTheStateAndThenChanges() throws {
        let client = try rig.events()
        let first = try #require(client.message())
        #expect(first["pause"] == .flag(false) && first["time-pos"]?.number == 10 && first["duration"]?.number == 60)
        #expect(first["media-title"] == .text("Zwei") && first["health"] == nil && first["mute"] == .null)
        var films: [JSONValue] = []
        if case .array(let items)? = first["playlist"] { films = items }
        #expect(films.map { $0["title"] } == [.text("Film 11"), .text("Film 12"), .text("Film 13")])
        #expect(films.map { $0["current"]?.flag } == [false, true, false])
        #expect(first["commands"]?.compact.contains(#""seek""#) == true)
        #expect(first["commands"]?.compact.contains("loadfile") == false)
        #expect(first["settable"]?.compact.contains(#""aid""#) == true)
        rig.player.set("pause", .flag(true))
        #expect(client.message("pause", .flag(true))?["time-pos"]?.number == 10)
        // The position alone is sent with events of the player only.
        rig.player.set("time-pos", .real(30, decimals: 6))
        rig.player.report(.sought(.zero))
        while let message = client.message(), message["time-pos"]?.number != 30 {}
        #expect(try rig.command(#"["set","pause",false]"#).status == 200)
        #expect(client.message("pause", .flag(false)) != nil)
        rig.page.close()
        while client.message() != nil {}
    }

    @Test func aPageThatDoesNotReadIsDisconnectedAndOthersAreServed() throws {
        let (silent, client) = (try rig.send("GET", rig.path + "events"), try rig.events())
        // More than the queue and the kernel's buffers.
        for number in 0..<120 {
            let title = String(repeating: "ä", count: 110)
            let films = (0..<100).map { index in
                JSONValue.object([("id", .integer(index)), ("title", .text("\(number) \(title)"))])
            }
            rig.player.set("playlist", .array(films))
            rig.player.set("volume", .integer(number))
            #expect(client.message("volume", .integer(number)) != nil)
        }
        _ = RemotePageRig.rest(of: silent)
        #expect(try rig.command(#"["set","pause",true]"#).status == 200)
        #expect(client.message("pause", .flag(true)) != nil)
    }

    @Test func furtherPagesThanTheMaximumAreRefused() throws {
        var clients = try (0..<RemotePageHandler.maxStreams).map { _ in try rig.events() }
        for client in clients { #expect(client.message() != nil) }
        #expect(try rig.request("GET", rig.path + "events").status == 503)
        clients.removeLast()
        // The server detects the end when it sends.
        var isAccepted = false
        for number in 0..<1000 where !isAccepted {
            rig.player.set("volume", .integer(number % 100))
            for client in clients { #expect(client.message("volume", .integer(number % 100)) != nil) }
            let socket = try rig.send("GET", rig.path + "events")
            var line = [UInt8](repeating: 0, count: 12)
            _ = try socket.receive(into: &line, deadline: .now.advanced(by: .seconds(60)))
            isAccepted = String(decoding: line, as: UTF8.self) == "HTTP/1.1 200"
        }
        #expect(isAccepted)
    }
}

/// The server without a page.
@Suite struct HTTPServerTests {
    /// Answers no request.
    private final class Holder: HTTPHandler {
        var requests = 0

        func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
            requests += 1
            exchange.hold()
        }
    }

    /// libmicrohttpd ends the process if a request waits at the end.
    @Test func aRequestThatArrivesAtTheEndIsRefused() throws {
        let (listener, holder) = (try TCPListener(address: RemotePageRig.loopback), Holder())
        let server = try HTTPServer(on: listener, handler: holder)
        let deadline = HostInstant.now.advanced(by: .seconds(60))
        let client = try TCPSocket.connect(to: RemotePageRig.loopback, port: listener.port, deadline: deadline)
        // Accepts the connection.
        server.serve()
        try client.sendAll(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8), deadline: deadline)
        server.close()
        #expect(holder.requests == 0)
    }
}

/// What a page displays.
@Suite struct RemotePageStateTests {
    @Test func foldersServersAndPasswordsAreNotShown() {
        let playlist = JSONValue.array([
            .object([("id", .integer(1)), ("filename", .text("/home/ada/private/film.mkv"))]),
            .object([("id", .integer(2)), ("filename", .text("https://server.example/a/b.mp4")), ("title", .text("B"))]
            ),
        ])
        let shown = RemotePageState.shown("playlist", playlist).compact
        #expect(
            shown == #"[{"index":0,"title":"film.mkv","current":false},{"index":1,"title":"B","current":false}]"#)
    }

    @Test func listsAndTextsAreLimited() {
        let items = JSONValue.array((0..<5000).map { .object([("id", .integer($0)), ("type", .text("audio"))]) })
        for name in ["playlist", "track-list", "audio-device-list"] {
            guard case .array(let shown) = RemotePageState.shown(name, items) else {
                Issue.record("\(name)")
                continue
            }
            #expect(shown.count == 100)
        }
        let text = RemotePageState.shown("media-title", .text(String(repeating: "x\n", count: 5000))).text
        #expect(text?.count == 120)
        #expect(RemotePageState.shown("volume", nil) == .null)
        #expect(
            RemotePageState.message(["a": .text("\n\n")], position: nil)
                == Array(#"data: {"a":"\u000a\u000a","time-pos":null}"#.utf8) + [10, 10])
    }
}

/// The link to a page.
@Suite struct RemotePageLinkTests {
    @Test func theLongestLinkIsAQRCode() throws {
        let address = HTTPAddress(address: NetworkAddress(ipv4: .max), port: 65535)
        let (one, other) = (AccessToken().link(to: address), AccessToken().link(to: address))
        #expect(one != other && one.utf8.count == 52)
        #expect(QRCode(one) != nil && QRCode(String(repeating: "x", count: 54)) == nil)
    }

    /// Recorded from a code that zxing-cpp 2 reads.
    @Test func theCodeOfALinkIsTheStandards() throws {
        let code = try #require(QRCode("http://192.168.178.100:9596/AbCdEfGhIjKlMnOpQrStUv/"))
        let lines = code.lines.map { $0.replacingOccurrences(of: " ", with: ".") }
        #expect(lines == Self.lines.split(separator: "\n").map(String.init))
    }

    private static let lines = """
        .................................
        ..█▀▀▀▀▀█..▀██▀█▀▄.▀.█▀.█▀▀▀▀▀█..
        ..█.███.█.▀▄.█▄.▄.▀.▀▄█.█.███.█..
        ..█.▀▀▀.█..▀██▄▀▀█▄█.█▀.█.▀▀▀.█..
        ..▀▀▀▀▀▀▀.█.▀▄█▄▀.█▄█▄▀.▀▀▀▀▀▀▀..
        ..▀▀█▄█▀▀▀▀▄.▄▄..▄███..▀█▄.▄▀.▄..
        ..▄.█▄.▀▀█▄▄█▄███.█▄▄▄.███▀▄▀█▀..
        ..█.▀███▀.█.█.▄▀..█▀█...██.█▄▀█..
        ..▀▄.██.▀▄█.▄..▄.▄▄▄█.█▄..▄▄.█▀..
        ...▄.▄.█▀.▄█.▄▄..▄███▀▀▄█▄..▄▀█..
        ..▀▄.▄.█▀▄▀█..▀▄▄▄██.▄▀█▄▄.█.█▀..
        ..▀.▀▀.▀▀.█...▄▀..█▀▀▀█▀▀▀█.▄▄▄..
        ..█▀▀▀▀▀█.██▀▄.█...█▄██.▀.██.▀█..
        ..█.███.█.▀▄.▄▄..▄█▄..██▀▀██..█..
        ..█.▀▀▀.█.█.▀▄▀█▄.▀▄█▀██..▀█▀▄▀..
        ..▀▀▀▀▀▀▀.▀▀...▀..▀▀..▀▀▀..▀.▀▀..
        .................................
        """

    @Test func aTokenMatchesItselfOnly() {
        let token = AccessToken()
        let link = token.link(to: HTTPAddress(address: NetworkAddress(ipv4: 1), port: 1))
        let text = String(link.split(separator: "/")[2])
        #expect(token.matches(text) && !AccessToken().matches(text))
        let given = AccessToken(text + "more")
        #expect(given?.matches(text + "more") == true)
        for other in ["too short", String(text.dropLast()), String(repeating: "x", count: 65), "with/a/slash/in/it"] {
            #expect(AccessToken(other) == nil, "\(other)")
        }
        for other in ["", String(text.dropLast()), text + "A"] { #expect(!token.matches(other)) }
    }

    @Test func theAddressOfALinkIsReachable() {
        let loopback = RemotePageRig.loopback
        #expect(RemotePageLink.reachableAddress(of: loopback) == loopback)
        let all = RemotePageLink.reachableAddress(of: NetworkAddress.anyIPv4)
        #expect(LocalAddresses.all().contains(all))
    }

    /// DHCP sets the search domains: an attacker's domain could be one.
    @Test func theNamesOfAComputerAreThoseThatItIsConfiguredWith() throws {
        let hosts =
            "127.0.0.1\tlocalhost\n127.0.1.1 PC.Home.Example pc # other.example\n192.0.2.7 screen.example\n::1 six\n"
            + "192.0.2.8 printer.example\nfe80::1 pc.six\n"
        let own = try #require(NetworkAddress("192.0.2.7"))
        #expect(
            LocalAddresses.names(of: "PC", hosts: hosts, addresses: [own])
                == ["pc", "pc.local", "localhost", "pc.home.example", "screen.example"])
        #expect(
            LocalAddresses.names(of: "pc.example.org", hosts: "", addresses: [])
                == ["pc.example.org", "pc", "pc.local"])
        #expect(LocalAddresses.names(of: "", hosts: hosts, addresses: [own]).isEmpty)
    }

    @Test func aPortInUseIsRefusedWithItsHolder() throws {
        let taken = try TCPListener(address: RemotePageRig.loopback)
        do throws(SocketError) {
            _ = try RemotePageLink(at: HTTPAddress(address: RemotePageRig.loopback, port: taken.port))
            Issue.record("it was accepted")
        } catch {
            #expect(error.code == .addressInUse && error.message.contains("(\(getpid())) has port \(taken.port)"))
        }
    }
}
