import AirPlayWire
import MediaCore
import PTP
import Testing

@testable import AirPlay

@Suite struct RTSPConnectionTests {
    private func connect() throws -> (LoopbackServer, RTSPConnection) {
        let server = try LoopbackServer()
        let identity = SenderIdentity(rawValue: 0xA1B2_C3D4_E5F6_0718, name: "Test")
        return (server, RTSPConnection(socket: try server.connect(), identity: identity))
    }

    @Test func everyRequestSaysWhoAsksAndCountsOn() throws {
        let (server, connection) = try connect()
        server.send("RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\nRTSP/1.0 200 OK\r\nCSeq: 2\r\n\r\n")
        _ = try connection.exchange("GET", "/info", timeout: .seconds(2))
        _ = try connection.exchange("POST", "/feedback", timeout: .seconds(2))
        let text = String(decoding: server.receive(), as: UTF8.self)
        #expect(text.hasPrefix("GET /info RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: AirPlay/"))
        #expect(text.contains("DACP-ID: A1B2C3D4E5F60718\r\n"))
        #expect(text.contains("POST /feedback RTSP/1.0\r\nCSeq: 2\r\n"))
    }

    @Test func aLateAnswerToAGivenUpRequestIsForgotten() throws {
        let (server, connection) = try connect()
        let error = #expect(throws: AirPlayError.self) {
            try connection.exchange("POST", "/feedback", timeout: .milliseconds(20))
        }
        #expect(error?.code == .timedOut)
        #expect(!connection.isBroken)
        server.send("RTSP/1.0 404 Late\r\nCSeq: 1\r\n\r\nRTSP/1.0 200 OK\r\nCSeq: 2\r\n\r\n")
        #expect(try connection.exchange("GET", "/info", timeout: .seconds(2)).status == 200)
    }

    @Test func anEncryptedChannelEndsWithTheFirstForgedByte() throws {
        let (server, connection) = try connect()
        connection.encrypt(with: ChannelKeys(write: .random(count: 32), read: .random(count: 32)))
        server.send([4, 0] + [UInt8](repeating: 7, count: 20))
        let error = #expect(throws: AirPlayError.self) {
            try connection.exchange("GET", "/info", timeout: .seconds(2))
        }
        #expect(error?.code == .protocolViolation)
        #expect(connection.isBroken)
        #expect(throws: AirPlayError.self) { try connection.exchange("GET", "/info", timeout: .seconds(2)) }
    }

    @Test func aSpeakerThatHangsUpIsLost() throws {
        let (server, connection) = try connect()
        server.hangUp()
        let error = #expect(throws: AirPlayError.self) {
            try connection.exchange("GET", "/info", timeout: .seconds(2))
        }
        #expect(error?.code == .lost)
    }

    @Test(arguments: [
        (401, "pairing-required"), (470, "pairing-required"), (453, "busy"), (454, "lost"), (500, "refused"),
    ])
    func refusalsSayWhatToDo(status: Int, code: String) {
        let error = #expect(throws: AirPlayError.self) { try RTSPResponse(status: status).accepted("play") }
        #expect(error?.code.rawValue == code)
        #expect(error?.status == status)
    }

    @Test func nobodyThereIsSaidInOneSentence() throws {
        let port = try LoopbackServer().port
        let error = #expect(throws: AirPlayError.self) {
            try TCPSocket.connect(to: .init("127.0.0.1")!, port: port, deadline: .now.advanced(by: .seconds(1)))
        }
        #expect(error?.code == .unreachable)
    }
}

@Suite struct BufferedWriterTests {
    private let key = SecretBytes.random(count: 32)

    private func writer(_ server: LoopbackServer, room: @escaping @Sendable () -> Void = {}) throws -> BufferedWriter {
        BufferedWriter(
            socket: try server.connect(), key: key, format: .aac48000, firstSequence: 100, room: room, ended: {})
    }

    @Test func packetsArriveInOrderWithTheirTimestamps() throws {
        let server = try LoopbackServer()
        let writer = try writer(server)
        for index in 0..<50 {
            let packet = [UInt8](repeating: UInt8(index), count: 300)
            let result = packet.withUnsafeBytes {
                writer.write($0, timestamp: RTPTimestamp(rawValue: UInt32(index) * 1024))
            }
            #expect(result == .accepted)
        }
        var unpacker = BufferedUnpacker(key: key)
        var packets: [BufferedUnpacker.Packet] = []
        while packets.count < 50 { packets += try unpacker.open(server.receive()) }
        #expect(packets.map(\.sequence) == (100..<150).map { $0 })
        #expect(packets.map(\.timestamp.rawValue) == (0..<50).map { $0 * 1024 })
        #expect(packets.allSatisfy { $0.sound == [UInt8](repeating: $0.sound[0], count: 300) })
        writer.close()
    }

    @Test func aSpeakerThatDoesNotReadFillsTheQueueAndIsToldOfRoomLater() throws {
        let server = try LoopbackServer()
        let room = Signal()
        let writer = try writer(server) { room.raise() }
        let packet = [UInt8](repeating: 1, count: 20_000)
        func write() -> BufferedWriter.Result {
            packet.withUnsafeBytes { writer.write($0, timestamp: RTPTimestamp(rawValue: 0)) }
        }
        var accepted = 0
        while write() == .accepted, accepted < 10_000 { accepted += 1 }
        #expect(accepted < 10_000)
        #expect(writer.queuedPackets > 0)
        // Reading lets it go on, until it asks for more.
        var unpacker = BufferedUnpacker(key: key)
        var packets: [BufferedUnpacker.Packet] = []
        while !room.wait(until: .now.advanced(by: .milliseconds(1))) { packets += try unpacker.open(server.receive()) }
        #expect(write() == .accepted)
        writer.close()
    }

    @Test func droppedPacketsNeverLeaveAndTheNumberingSaysWhereTheNewOnesBegin() throws {
        let server = try LoopbackServer()
        let writer = try writer(server)
        let old = [UInt8](repeating: 1, count: 20_000)
        while old.withUnsafeBytes({ writer.write($0, timestamp: RTPTimestamp(rawValue: 1)) }) == .accepted {}
        let next = writer.dropQueued()
        #expect(writer.queuedPackets == 0)
        _ = [UInt8(9)].withUnsafeBytes { writer.write($0, timestamp: RTPTimestamp(rawValue: 2)) }
        var unpacker = BufferedUnpacker(key: key)
        var packets: [BufferedUnpacker.Packet] = []
        while packets.last?.timestamp.rawValue != 2 { packets += try unpacker.open(server.receive()) }
        #expect(packets.last?.sequence == next)
        #expect(packets.dropLast().allSatisfy { $0.timestamp.rawValue == 1 })
        writer.close()
    }

    @Test func aClosedStreamTakesNoMore() throws {
        let server = try LoopbackServer()
        let writer = try writer(server)
        writer.close()
        #expect([UInt8(1)].withUnsafeBytes { writer.write($0, timestamp: RTPTimestamp(rawValue: 0)) } == .closed)
    }
}
