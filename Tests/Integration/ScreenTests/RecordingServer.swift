import Foundation
import Testing

@testable import ProgramTestSupport

/// A proxy between a program and an X server that simulates DPMS and records requests to extensions.
///
/// Xvfb and Xorg's dummy driver have no DPMS. The proxy answers DPMS requests, and sends the server a substitute of the
/// same kind so that sequence numbers agree. Numbers are those of the X11 protocol, chapters "Connection Setup" and
/// "Requests", and of the DPMS extension, version 1.2.
final class RecordingServer: @unchecked Sendable {
    let name: String
    private let listener: Int32
    private let path: String
    private let server: String
    private let lastRequest: UInt8?
    private let lock = NSLock()
    private var noted: [String] = []

    /// A major opcode that no extension of the server uses.
    private static let dpms: UInt8 = 200

    /// - Parameter endingAt: opcode of a core request that closes the connection, as if the server had exited.
    init(before display: VirtualDisplay, endingAt: UInt8? = nil) throws {
        lastRequest = endingAt
        server = "/tmp/.X11-unix/X" + display.name.dropFirst()
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        // Binding fails for a name in use; the first free one is used.
        let socket = listener
        let free = (400..<65_000).first { Self.with("/tmp/.X11-unix/X\($0)") { bind(socket, $0, $1) } == 0 }
        let number = try #require(free)
        name = ":\(number)"
        path = "/tmp/.X11-unix/X\(number)"
        try #require(listen(listener, 8) == 0, "no socket at \(path)")
        // Weak: the thread must not retain the server, whose deinitialization ends the thread.
        Thread.detachNewThread { [listener, weak self] in
            while case let client = accept(listener, nil, nil), client >= 0 { self?.serve(client) }
            close(listener)
        }
    }

    deinit { stop() }

    /// Shuts the listener down; its thread closes the descriptor.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        unlink(path)
    }

    /// The requests to extensions, such as `DPMS 6 3`: extension, minor opcode, and for DPMS the first argument.
    var requests: [String] { lock.withLock { noted } }

    private static func with(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    // MARK: One connection

    /// State shared by the threads of both directions.
    private final class Connection: @unchecked Sendable {
        let client, server: Int32
        let lock = NSLock()
        var sequence: UInt16 = 0
        /// Functions that modify replies, by sequence number of the request.
        var replies: [UInt16: ([UInt8]) -> [UInt8]] = [:]
        var extensions: [UInt8: String] = [RecordingServer.dpms: "DPMS"]
        var isEnabled = false
        var level: UInt16 = 0

        init(_ client: Int32, _ server: Int32) { (self.client, self.server) = (client, server) }

        func read(_ descriptor: Int32, _ count: Int) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: count)
            var done = 0
            while done < count {
                let got = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + done, count - done) }
                guard got > 0 else { return nil }
                done += got
            }
            return bytes
        }

        func write(_ descriptor: Int32, _ bytes: [UInt8]) {
            var done = 0
            while done < bytes.count {
                let sent = bytes.withUnsafeBytes {
                    send(descriptor, $0.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
                }
                guard sent > 0 else { return }
                done += sent
            }
        }

        func end() {
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
        }
    }

    private func serve(_ client: Int32) {
        let upstream = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard Self.with(server, { connect(upstream, $0, $1) }) == 0 else {
            close(client)
            close(upstream)
            return
        }
        let connection = Connection(client, upstream)
        Thread.detachNewThread { [self] in
            forwardRequests(connection)
            connection.end()
        }
        Thread.detachNewThread {
            Self.forwardReplies(connection)
            connection.end()
        }
    }

    private static func word(_ bytes: [UInt8], _ at: Int) -> Int { Int(bytes[at]) | Int(bytes[at + 1]) << 8 }

    private func forwardRequests(_ connection: Connection) {
        // Byte order, version, and authorization; little-endian on this machine.
        guard let hello = connection.read(connection.client, 12) else { return }
        let rest = (Self.word(hello, 6) + 3) / 4 * 4 + (Self.word(hello, 8) + 3) / 4 * 4
        guard let words = connection.read(connection.client, rest) else { return }
        connection.write(connection.server, hello + words)
        while var request = connection.read(connection.client, 4) {
            var length = Self.word(request, 2) * 4
            if length == 0 {
                // BIG-REQUESTS: the length is in the next word.
                guard let long = connection.read(connection.client, 4) else { return }
                request += long
                length = (Self.word(long, 0) | Self.word(long, 2) << 16) * 4
            }
            guard length >= request.count, let body = connection.read(connection.client, length - request.count) else {
                return
            }
            request += body
            if request[0] == lastRequest { return }
            connection.write(connection.server, taken(request, connection))
        }
    }

    /// Returns the request that is sent to the server instead.
    private func taken(_ request: [UInt8], _ connection: Connection) -> [UInt8] {
        connection.lock.withLock {
            connection.sequence &+= 1
            let number = connection.sequence
            if request[0] == 98 {
                // QueryExtension.
                let name = String(decoding: request[8..<8 + Self.word(request, 4)], as: UTF8.self)
                connection.replies[number] = { reply in
                    var reply = reply
                    if name == "DPMS" { (reply[8], reply[9]) = (1, Self.dpms) }
                    if reply[8] == 1 { connection.extensions[reply[9]] = name }
                    return reply
                }
            }
            guard request[0] >= 128, let name = connection.extensions[request[0]] else { return request }
            let argument = name == "DPMS" && request.count > 4 ? " \(Self.word(request, 4))" : ""
            lock.withLock { noted.append("\(name) \(request[1])\(argument)") }
            guard name == "DPMS" else { return request }
            // NoOperation has no reply; GetInputFocus has one of 32 bytes, as all DPMS replies.
            let (nothing, something): ([UInt8], [UInt8]) = ([127, 0, 1, 0], [43, 0, 1, 0])
            func answer(_ words: [UInt16]) -> [UInt8] {
                connection.replies[number] = { reply in
                    var bytes = [UInt8](repeating: 0, count: 32)
                    bytes[0..<4] = [1, 0, reply[2], reply[3]]
                    for (index, word) in words.enumerated() {
                        (bytes[8 + index * 2], bytes[9 + index * 2]) = (UInt8(word & 255), UInt8(word >> 8))
                    }
                    return bytes
                }
                return something
            }
            switch request[1] {
            case 0: return answer([1, 1])
            case 1: return answer([1])
            case 2: return answer([0, 0, 0])
            case 4: connection.isEnabled = true
            case 5: connection.isEnabled = false
            case 6: connection.level = UInt16(Self.word(request, 4))
            case 7: return answer([connection.level, connection.isEnabled ? 1 : 0])
            default: break
            }
            return nothing
        }
    }

    private static func forwardReplies(_ connection: Connection) {
        guard let hello = connection.read(connection.server, 8),
            let rest = connection.read(connection.server, word(hello, 6) * 4)
        else { return }
        connection.write(connection.client, hello + rest)
        while var message = connection.read(connection.server, 32) {
            // A reply or a generic event can be longer than 32 bytes.
            if message[0] == 1 || message[0] & 127 == 35 {
                let more = (word(message, 4) | word(message, 6) << 16) * 4
                guard let rest = connection.read(connection.server, more) else { return }
                message += rest
            }
            if message[0] == 1 {
                let number = UInt16(word(message, 2))
                if let change = connection.lock.withLock({ connection.replies.removeValue(forKey: number) }) {
                    message = connection.lock.withLock { change(message) }
                }
            }
            connection.write(connection.client, message)
        }
    }
}
