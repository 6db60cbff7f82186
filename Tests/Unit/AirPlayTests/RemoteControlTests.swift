import AirPlayWire
import MediaCore
import Sockets
import Testing

@testable import AirPlay
@testable import AirPlayTransport

/// Commands of speakers by DACP.
@Suite struct RemoteControlTests {
    private func request(_ target: String, token: String? = "7", method: String = "GET") -> [UInt8] {
        var headers: RTSPHeaders = ["Host": "10.0.0.1:3689"]
        if let token { headers.append("Active-Remote", token) }
        return RTSPRequest(method, target, version: "HTTP/1.1", headers: headers).encoded()
    }

    /// Returns the statuses of the responses.
    private func statuses(_ outcome: RemoteControlConversation.Outcome) throws -> [Int] {
        var parser = RTSPParser()
        parser.append(outcome.responses)
        var statuses: [Int] = []
        while case .response(let response)? = try parser.next() { statuses.append(response.status) }
        return statuses
    }

    @Test func aCommandWithTheTokenIsPerformedWhateverItsFragments() throws {
        let bytes = request("/ctrl-int/1/nextitem") + request("/ctrl-int/1/pause")
        for length in 1...bytes.count {
            var conversation = RemoteControlConversation()
            var commands: [RemoteCommand] = []
            var responses: [UInt8] = []
            for start in stride(from: 0, to: bytes.count, by: length) {
                let piece = bytes[start..<min(bytes.count, start + length)]
                let outcome = conversation.receive(piece) { $0 == 7 }
                #expect(!outcome.isOver && outcome.commands.allSatisfy { $0.token == 7 })
                commands += outcome.commands.map(\.command)
                responses += outcome.responses
            }
            #expect(commands == [.next, .pause])
            #expect(String(decoding: responses.prefix(24), as: UTF8.self).hasPrefix("HTTP/1.1 204 No Content"))
        }
    }

    @Test(arguments: [nil, "", "8", "x", "-7", "4294967303"])
    func aCommandWithoutTheTokenIsRefusedAndEndsTheConnection(token: String?) throws {
        var conversation = RemoteControlConversation()
        let outcome = conversation.receive(request("/ctrl-int/1/pause", token: token)) { $0 == 7 }
        #expect(outcome.commands.isEmpty && outcome.isOver)
        #expect(try statuses(outcome) == [403])
    }

    @Test func requestsThatAreNoCommandsAreAnsweredAndIgnored() throws {
        var conversation = RemoteControlConversation()
        let bytes =
            request("/ctrl-int/1/getproperty?properties=dmcp.volume") + request("/")
            + request("/ctrl-int/1/play", method: "POST")
        let outcome = conversation.receive(bytes) { $0 == 7 }
        #expect(outcome.commands.isEmpty && !outcome.isOver)
        #expect(try statuses(outcome) == [400, 404, 404])
    }

    @Test func nonsenseAndEndlessRequestsEndTheConnection() {
        for bytes in [
            Array("\u{1}\u{2}".utf8), Array("HTTP/1.1 200 OK\r\n\r\n".utf8),
            Array("GET / HTTP/1.1\r\nContent-Length: 99999\r\n\r\n".utf8),
            [UInt8](repeating: 0x41, count: 70_000),
        ] {
            var conversation = RemoteControlConversation()
            #expect(conversation.receive(bytes) { _ in true }.isOver)
        }
        var conversation = RemoteControlConversation()
        var count = 0
        while count < 1000, !conversation.receive(request("/ctrl-int/1/play"), isToken: { $0 == 7 }).isOver {
            count += 1
        }
        #expect(count < 100)
    }

    @Test func aBurstOfCommandsIsCut() {
        var limit = CommandRateLimit()
        let now = HostInstant(nanoseconds: 5_000_000_000)
        let admitted = (0..<1000).count { limit.admit(at: now.advanced(by: .microseconds($0))) }
        #expect(admitted == 50)
        let isAdmittedLater = limit.admit(at: now.advanced(by: .seconds(1)))
        #expect(isAdmittedLater)
    }

    private final class Commands: Sendable {
        let all = Lock<[RemoteCommand]>([])
        let arrived = Signal()
        func add(_ command: RemoteCommand) {
            all.withLock { $0.append(command) }
            arrived.raise()
        }
    }

    /// Sends a request over a real connection; returns the start of the response, empty if it is closed.
    private func ask(_ server: RemoteControlServer, _ bytes: [UInt8]) throws -> String {
        // Other tests may occupy the processors for a minute.
        let deadline = HostInstant.now.advanced(by: .seconds(120))
        let socket = try TCPSocket.connect(
            to: NetworkAddress("127.0.0.1")!, port: try #require(server.port), deadline: deadline)
        try socket.sendAll(bytes, deadline: deadline)
        var buffer = [UInt8](repeating: 0, count: 512)
        // ignored: a reset is a closed connection too.
        let count = (try? socket.receive(into: &buffer, deadline: deadline)) ?? 0
        return String(decoding: buffer.prefix(count).prefix { $0 != 13 }, as: UTF8.self)
    }

    @Test func aServerListensForItsSpeakersAlone() throws {
        let server = RemoteControlServer(identity: .random(name: "Test"), isAnnounced: false)
        #expect(server.port == nil)
        let (here, elsewhere) = (NetworkAddress("127.0.0.1")!, NetworkAddress("10.9.9.9")!)
        let commands = Commands()
        server.register(9, of: elsewhere, local: here) { commands.add($0) }
        // No speaker at this address may send commands.
        #expect(try ask(server, request("/ctrl-int/1/play", token: "9")) == "")
        server.register(7, of: here, local: here) { commands.add($0) }
        #expect(try ask(server, request("/ctrl-int/1/pause", token: "7")) == "HTTP/1.1 204 No Content")
        #expect(commands.arrived.wait(until: .now.advanced(by: .seconds(120))))
        // The token of a speaker at another address.
        #expect(try ask(server, request("/ctrl-int/1/play", token: "9")) == "HTTP/1.1 403 Forbidden")
        // A client that never sends a whole request does not block others.
        let idle = try TCPSocket.connect(
            to: here, port: try #require(server.port), deadline: .now.advanced(by: .seconds(120)))
        #expect(idle.sendCompletely(Array("GET ".utf8), until: .now.advanced(by: .seconds(120))))
        #expect(try ask(server, request("/ctrl-int/1/nextitem")) == "HTTP/1.1 204 No Content")
        server.unregister(7)
        #expect(try ask(server, request("/ctrl-int/1/play")) == "")
        #expect(commands.all.withLock { $0 } == [.pause, .next])
    }
}
