import Glibc
import MediaCore
import Testing

@testable import MediaFiles

/// A server whose connections send one prepared response for each request.
@Suite struct ConnectionPoolTests {
    private final class Server {
        /// The responses of each connection in the order of their opening.
        var connections: [[String]]
        var requests: [(connection: Int, address: WebAddress, head: String)] = []
        private(set) var opened = 0
        private(set) var closed: [Int] = []

        init(_ connections: [[String]]) { self.connections = connections }

        final class Connection: WebConnection {
            let (server, number, address): (Server, Int, WebAddress)
            private var responses: ArraySlice<String>
            private var bytes: ArraySlice<UInt8> = []
            private(set) var maxSilence: Duration?

            init(_ server: Server, _ number: Int, _ address: WebAddress) {
                (self.server, self.number, self.address) = (server, number, address)
                responses = server.connections[number][...]
            }

            deinit { server.closed.append(number) }

            func send(_ bytes: [UInt8]) -> Int32 {
                server.requests.append((number, address, String(decoding: bytes, as: UTF8.self)))
                self.bytes += Array((responses.popFirst() ?? "").utf8)
                return 0
            }

            func receive(_ target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
                let count = min(bytes.count, target.count)
                if count == 0 { return -541_478_725 }
                _ = target.update(fromContentsOf: bytes.prefix(count))
                bytes = bytes.dropFirst(count)
                return Int32(count)
            }

            func setMaxSilence(_ duration: Duration?) { maxSilence = duration }
        }

        func connect(_ address: WebAddress) throws(WebFailure) -> any WebConnection {
            guard opened < connections.count else { throw WebFailure(code: -ECONNREFUSED) }
            opened += 1
            return Connection(self, opened - 1, address)
        }
    }

    private let requestBuilder = HTTPRequestBuilder("http://a.org/list", ReadOptions())

    private func file(_ text: String, _ more: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\(more)\r\n" + text
    }

    /// Returns the text of a resource; its input is closed afterwards.
    private func read(_ url: String, _ server: Server, _ pool: ConnectionPool, atMost count: Int = 1000) throws
        -> String
    {
        let input = try HTTPStream(
            try #require(WebAddress(url)), requestBuilder: requestBuilder, pool: pool, waiting: InterruptCallback([]),
            connect: server.connect)
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4))
        while bytes.count < count {
            let got = buffer.withUnsafeMutableBufferPointer { input.read(into: $0) }
            if got <= 0 { break }
            bytes += buffer.prefix(Int(got))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func aConnectionServesSeveralRequests() throws {
        let (server, pool) = (Server([[file("first"), file("second"), file("third")]]), ConnectionPool())
        for (name, text) in [("a", "first"), ("b", "second"), ("c", "third")] {
            #expect(try read("http://a.org/\(name)", server, pool) == text)
        }
        #expect(server.opened == 1 && server.requests.count == 3)
        #expect(server.requests.allSatisfy { !$0.head.contains("Connection: close") })
        pool.removeAll()
        #expect(server.closed == [0])
    }

    @Test func withoutAPoolTheServerClosesTheConnection() throws {
        let server = Server([[file("first")]])
        _ = try HTTPStream(
            try #require(WebAddress("http://a.org/")), requestBuilder: requestBuilder, waiting: InterruptCallback([]),
            connect: server.connect)
        #expect(server.requests.map { $0.head.contains("Connection: close\r\n") } == [true])
        #expect(server.closed == [0])
    }

    @Test func aConnectionThatTheServerClosedIsReplacedOnce() throws {
        let (server, pool) = (Server([[file("first")], [file("second")]]), ConnectionPool())
        _ = try read("http://a.org/a", server, pool)
        #expect(try read("http://a.org/b", server, pool) == "second")
        #expect(server.requests.map(\.connection) == [0, 0, 1])
        let lost = Server([[file("first")], []])
        let other = ConnectionPool()
        _ = try read("http://a.org/a", lost, other)
        #expect(throws: WebFailure.self) { try read("http://a.org/b", lost, other) }
        #expect(lost.requests.map(\.connection) == [0, 0, 1])
    }

    @Test func aResponseThatHasBegunIsNotRequestedAgain() throws {
        let (server, pool) = (Server([[file("first"), "HTTP/1.1 2"], [file("second")]]), ConnectionPool())
        _ = try read("http://a.org/a", server, pool)
        #expect(throws: WebFailure.self) { try read("http://a.org/b", server, pool) }
        #expect(server.opened == 1)
    }

    @Test func theFirstByteOnAReusedConnectionHasALimit() throws {
        let (server, pool) = (Server([[file("first"), file("second")]]), ConnectionPool())
        _ = try read("http://a.org/a", server, pool)
        let address = try #require(WebAddress("http://a.org/a"))
        let kept = try #require(pool.remove(for: address) as? Server.Connection)
        #expect(kept.maxSilence == nil)
        pool.store(kept, to: address)
        // The response is not seekable: without a limit from then on.
        _ = try read("http://a.org/b", server, pool)
        #expect(server.requests.count == 2 && kept.maxSilence == nil)
        // No third response: the limit of its request stays.
        #expect(throws: WebFailure.self) { try read("http://a.org/c", server, pool) }
        #expect(kept.maxSilence == requestBuilder.maxSilence)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: Close\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: x, close\r\n\r\nbody",
        "HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 40\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbodyHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\n\r\nbody",
    ]) func aConnectionWithAnUncertainEndIsClosed(_ response: String) throws {
        let (server, pool) = (Server([[response], [file("next")]]), ConnectionPool())
        #expect(try read("http://a.org/a", server, pool) == "body")
        #expect(server.closed == [0])
        #expect(try read("http://a.org/b", server, pool) == "next")
        #expect(server.requests.map(\.connection) == [0, 1])
    }

    @Test func aConnectionWithAnUnreadBodyIsClosed() throws {
        let (server, pool) = (Server([[file("a long body")], [file("next")]]), ConnectionPool())
        #expect(try read("http://a.org/a", server, pool, atMost: 4) == "a lo")
        #expect(server.closed == [0])
        #expect(try read("http://a.org/b", server, pool) == "next")
    }

    @Test(arguments: ["https://a.org/", "http://b.org/", "http://a.org:81/", "http://anna:secret@a.org/"])
    func aConnectionServesItsOwnServerOnly(_ other: String) throws {
        let (server, pool) = (Server([[file("first"), file("third")], [file("second")]]), ConnectionPool())
        #expect(try read("http://a.org/", server, pool) == "first")
        #expect(try read(other, server, pool) == "second")
        #expect(try read("http://a.org/", server, pool) == "third")
        #expect(server.requests.map(\.connection) == [0, 1, 0])
    }

    @Test func aRedirectWithoutABodyKeepsItsConnection() throws {
        let onward = "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"
        let (server, pool) = (Server([[onward, file("there"), file("next")]]), ConnectionPool())
        #expect(try read("http://a.org/a", server, pool) == "there")
        #expect(try read("http://a.org/c", server, pool) == "next")
        let distant = Server([
            ["HTTP/1.1 302 Found\r\nLocation: http://b.org/\r\nContent-Length: 4\r\n\r\n1234"], [file("there")],
        ])
        #expect(try read("http://a.org/a", distant, ConnectionPool()) == "there")
        #expect(distant.requests.map(\.address.host) == ["a.org", "b.org"])
        #expect(distant.closed.contains(0))
    }

    @Test func idleConnectionsAreFewAndShort() throws {
        var now = HostInstant(nanoseconds: 0)
        let pool = ConnectionPool { now }
        let server = Server(Array(repeating: [], count: 9))
        let address = try #require(WebAddress("http://a.org/"))
        for _ in 0..<6 { pool.store(try server.connect(address), to: address) }
        #expect(server.closed == [0, 1])
        now = now.advanced(by: ConnectionPool.maxIdleTime)
        #expect(pool.remove(for: address) == nil)
        #expect(server.closed.sorted() == [0, 1, 2, 3, 4, 5])
    }
}
