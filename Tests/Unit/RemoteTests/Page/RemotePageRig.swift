import MediaCore
import Playback
import RemoteTestSupport
import Sockets
import Testing

@testable import Remote

/// A recorded player with a page on loopback.
final class RemotePageRig {
    static let loopback = NetworkAddress.loopback

    let player = TablePlayer()
    let page: RemotePage
    let port: UInt16
    /// The path of the page, with the token.
    let path: String

    init() throws {
        let (listener, token) = (try TCPListener(address: Self.loopback), AccessToken())
        port = listener.port
        let address = HTTPAddress(address: Self.loopback, port: port)
        path = String(token.link(to: address).dropFirst("http://\(address)".count))
        // Other tests may occupy the processors for a minute.
        page = try RemotePage.start(
            on: listener, token: token, control: player.control, timeout: .seconds(120))
    }

    deinit {
        page.close()
        player.control.close()
    }

    func connect() throws -> TCPSocket {
        try TCPSocket.connect(to: Self.loopback, port: port, deadline: .now.advanced(by: .seconds(60)))
    }

    /// Sends a request and returns its connection.
    func send(
        _ method: String, _ path: String, _ fields: [String] = [], host: String? = nil, body: String = "",
        version: String = "1.1"
    ) throws -> TCPSocket {
        let socket = try connect()
        var lines = ["\(method) \(path) HTTP/\(version)", "Host: \(host ?? "127.0.0.1:\(port)")"] + fields
        if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
        let text = lines.joined(separator: "\r\n") + "\r\n\r\n" + body
        try socket.sendAll(Array(text.utf8), deadline: .now.advanced(by: .seconds(60)))
        return socket
    }

    /// Sends a request and returns its response.
    func request(
        _ method: String, _ path: String, _ fields: [String] = [], host: String? = nil, body: String = ""
    ) throws -> Response { Response(Self.rest(of: try send(method, path, fields, host: host, body: body))) }

    /// Sends a command and returns its response.
    func command(_ words: String, _ fields: [String] = []) throws -> Response {
        try request("POST", path + "command", fields, body: words)
    }

    /// Opens the stream of events, which is not divided into chunks (RFC 9112, section 7.1) by version 1.0.
    func events() throws -> EventClient { EventClient(try send("GET", path + "events", version: "1.0")) }

    /// Returns what arrives until the end of a connection.
    static func rest(of socket: TCPSocket) -> [UInt8] {
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        let deadline = HostInstant.now.advanced(by: .seconds(120))
        do throws(SocketError) {
            while true {
                let count = try socket.receive(into: &buffer, deadline: deadline)
                if count == 0 { return bytes }
                bytes += buffer[..<count]
            }
        } catch {
            if error.code == .timedOut { Issue.record("the connection does not end") }
            return bytes
        }
    }

    struct Response {
        let head: String
        let body: [UInt8]
        var status: Int { Int(head.split(separator: " ").dropFirst().first ?? "") ?? 0 }
        var text: String { String(decoding: body, as: UTF8.self) }

        init(_ bytes: [UInt8]) {
            let end = bytes.indices.first { bytes[$0...].starts(with: [13, 10, 13, 10]) } ?? bytes.endIndex
            (head, body) = (String(decoding: bytes[..<end], as: UTF8.self), Array(bytes[end...].dropFirst(4)))
        }
    }
}

/// A page that reads its events.
final class EventClient {
    private let socket: TCPSocket
    private var input: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)

    init(_ socket: TCPSocket) { self.socket = socket }

    /// Returns the next message; nil after the end, or after two minutes.
    func message() -> JSONValue? {
        let deadline = HostInstant.now.advanced(by: .seconds(120))
        while true {
            while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(input[..<end])
                input.removeFirst(end + 1)
                guard line.starts(with: Array("data: ".utf8)) else { continue }
                var reader = JSONReader(maxElements: 1 << 16)
                return Array(line.dropFirst(6)).withUnsafeBytes { reader.read($0).map(JSONValue.init) }
            }
            do throws(SocketError) {
                let count = try socket.receive(into: &buffer, deadline: deadline)
                if count == 0 { return nil }
                input += buffer[..<count]
            } catch {
                if error.code == .timedOut { Issue.record("no message arrives") }
                return nil
            }
        }
    }

    /// Returns the next message in which a property has this value; nil if the stream ends.
    func message(_ name: String, _ value: JSONValue) -> JSONValue? {
        while let message = message() { if message[name] == value { return message } }
        return nil
    }
}
