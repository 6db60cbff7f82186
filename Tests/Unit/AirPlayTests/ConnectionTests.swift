import AirPlayWire
import Glibc
import MediaCore
import PTP
import Sockets
import TalkieTestKit
import Testing

@testable import AirPlay
@testable import AirPlayTransport

@Suite struct RTSPConnectionTests {
    private func connect() throws -> (LoopbackServer, RTSPConnection) {
        let server = try LoopbackServer()
        let identity = SenderIdentity(rawValue: 0xA1B2_C3D4_E5F6_0718, name: "Test")
        return (server, RTSPConnection(socket: try server.connect(), identity: identity))
    }

    @Test func everyRequestSaysWhoAsksAndCountsOn() throws {
        let (server, connection) = try connect()
        server.send("RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\nRTSP/1.0 200 OK\r\nCSeq: 2\r\n\r\n")
        _ = try connection.exchange("GET", "/info", timeout: .seconds(20))
        _ = try connection.exchange("POST", "/feedback", timeout: .seconds(20))
        let text = String(decoding: server.receive(), as: UTF8.self)
        #expect(text.hasPrefix("GET /info RTSP/1.0\r\nCSeq: 1\r\nUser-Agent: AirPlay/"))
        #expect(text.contains("DACP-ID: A1B2C3D4E5F60718\r\n"))
        #expect(text.contains("POST /feedback RTSP/1.0\r\nCSeq: 2\r\n"))
    }

    @Test func aLateResponseToACancelledRequestIsDropped() throws {
        let (server, connection) = try connect()
        let error = #expect(throws: AirPlayError.self) {
            try connection.exchange("POST", "/feedback", timeout: .milliseconds(20))
        }
        #expect(error?.code == .timedOut)
        #expect(!connection.isBroken)
        server.send("RTSP/1.0 404 Late\r\nCSeq: 1\r\n\r\nRTSP/1.0 200 OK\r\nCSeq: 2\r\n\r\n")
        #expect(try connection.exchange("GET", "/info", timeout: .seconds(20)).status == 200)
    }

    @Test func aLateAnswerStillShowsThatTheSpeakerIsThere() throws {
        let (server, connection) = try connect()
        let made = connection.lastAnswer
        _ = try? connection.exchange("POST", "/feedback", timeout: .milliseconds(20))
        #expect(connection.lastAnswer == made)
        server.send("RTSP/1.0 200 Late\r\nCSeq: 1\r\n\r\n")
        _ = try? connection.exchange("POST", "/feedback", timeout: .milliseconds(500))
        #expect(connection.lastAnswer > made)
    }

    @Test func aConnectionRepeatsItselfOftenWhileTheNetworkIsAway() throws {
        let (_, connection) = try connect()
        connection.socket.setPersistence(.requests)
        // Kernels before 6.15 lack this option; without it TCP_USER_TIMEOUT would close a connection too early.
        let pause = option(44, of: connection.socket)
        #expect(pause == nil || pause == 1000)
        #expect(option(TCP_USER_TIMEOUT, of: connection.socket) == (pause == nil ? 0 : 62_000))
    }

    private func option(_ name: Int32, of socket: TCPSocket) -> Int32? {
        var (value, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        return getsockopt(socket.descriptor, Int32(IPPROTO_TCP), name, &value, &size) == 0 ? value : nil
    }

    @Test func anEncryptedChannelEndsWithTheFirstForgedByte() throws {
        let (server, connection) = try connect()
        try connection.encrypt(with: ChannelKeys(write: .random(count: 32), read: .random(count: 32)))
        server.send([4, 0] + [UInt8](repeating: 7, count: 20))
        let error = #expect(throws: AirPlayError.self) {
            try connection.exchange("GET", "/info", timeout: .seconds(20))
        }
        #expect(error?.code == .protocolViolation)
        #expect(connection.isBroken)
        #expect(throws: AirPlayError.self) { try connection.exchange("GET", "/info", timeout: .seconds(20)) }
    }

    /// Plain bytes that an attacker appends to the last response before encryption, to have them read afterwards.
    @Test(arguments: [
        "RTSP/1.0 200 OK\r\nCSeq: 2\r\n\r\n", "RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: 9\r\n\r\n", "R", "\r\n",
        "POST /command RTSP/1.0\r\n\r\n",
    ])
    func nothingSaidInTheClearIsHeardOnceTheChannelIsEncrypted(injected: String) throws {
        let (server, connection) = try connect()
        server.send("RTSP/1.0 200 OK\r\nCSeq: 1\r\n\r\n" + injected)
        #expect(try connection.exchange("POST", "/pair-verify", timeout: .seconds(20)).status == 200)
        let keys = ChannelKeys(write: .random(count: 32), read: .random(count: 32))
        let error = #expect(throws: AirPlayError.self) { try connection.encrypt(with: keys) }
        #expect(error?.code == .protocolViolation && connection.isBroken)
        #expect(throws: AirPlayError.self) { try connection.exchange("SETUP", "*", timeout: .seconds(20)) }
    }

    @Test func anAnswerInTheClearThatComesAfterTheSwitchEndsTheSession() throws {
        let (server, connection) = try connect()
        try connection.encrypt(with: ChannelKeys(write: .random(count: 32), read: .random(count: 32)))
        let pad = String(repeating: "x", count: 30_000)
        server.send("RTSP/1.0 200 OK\r\nCSeq: 1\r\nX: \(pad)\r\n\r\n")
        let error = #expect(throws: AirPlayError.self) {
            try connection.exchange("SETUP", "*", timeout: .seconds(20))
        }
        #expect(error?.code == .protocolViolation && connection.isBroken)
    }

    @Test func anAnswerToARequestThatIsYetToComeIsNone() throws {
        let (server, connection) = try connect()
        server.send("RTSP/1.0 200 OK\r\nCSeq: 2\r\n\r\n")
        let error = #expect(throws: AirPlayError.self) {
            try connection.exchange("GET", "/info", timeout: .seconds(20))
        }
        #expect(error?.code == .protocolViolation && connection.isBroken)
    }

    @Test func aSpeakerThatNumbersItsAnswersNumbersAllAndOneThatDoesNotIsUnderstood() throws {
        let (server, connection) = try connect()
        server.send("RTSP/1.0 404 Bare\r\n\r\n")
        #expect(try connection.exchange("GET", "/info", timeout: .seconds(20)).status == 404)
        server.send("RTSP/1.0 200 OK\r\nCSeq: 2\r\n\r\n")
        #expect(try connection.exchange("GET", "/info", timeout: .seconds(20)).status == 200)
        server.send("RTSP/1.0 404 Forged\r\n\r\nRTSP/1.0 200 OK\r\nCSeq: 3\r\n\r\n")
        #expect(try connection.exchange("GET", "/info", timeout: .seconds(20)).status == 200)
    }

    @Test func aFloodThatIsNoAnswerEndsWithTheDeadline() throws {
        let (server, connection) = try connect()
        let stale = Array(String(repeating: "RTSP/1.0 200 OK\r\nCSeq: 0\r\n\r\n", count: 2000).utf8)
        let isOver = Lock(false)
        let flood = try WorkerThread.start(name: "flood") { while !isOver.withLock({ $0 }) { server.send(stale) } }
        let began = HostInstant.now
        #expect(throws: AirPlayError.self) { try connection.exchange("GET", "/info", timeout: .milliseconds(300)) }
        // The flood does not end.
        #expect(HostInstant.now - began < .seconds(30))
        isOver.withLock { $0 = true }
        connection.socket.interrupt()
        server.hangUp()
        flood.join()
    }

    @Test(arguments: [true, false])
    func anEventChannelWithGarbageEndsWithASentenceAboutIt(isEncrypted: Bool) throws {
        let server = try LoopbackServer()
        let (own, theirs) = (SecretBytes.random(count: 32), SecretBytes.random(count: 32))
        let failure = Lock<AirPlayError?>(nil)
        let done = Signal()
        let channel = try EventChannel(socket: try server.connect(), keys: ChannelKeys(write: own, read: theirs)) {
            event in
            guard case .ended(let error) = event else { return }
            failure.withLock { $0 = error }
            done.raise()
        }
        defer { channel.close() }
        let garbage = [UInt8](repeating: 9, count: 100)
        var sealer = HAPFrameSealer(key: theirs)
        server.send(isEncrypted ? sealer.seal(garbage) : garbage)
        // A frame of 0x0909 bytes is not complete with a hundred bytes.
        if !isEncrypted { server.send([UInt8](repeating: 9, count: 4000)) }
        #expect(done.wait(until: .now.advanced(by: .seconds(20))))
        #expect(failure.withLock { $0?.code } == .protocolViolation)
    }

    @Test func aBurstOfCommandsIsCutAndDoesNotHideTheEndOfTheSession() async {
        let status = SessionStatus()
        for _ in 0..<1000 { status.publish(.next) }
        status.fail(AirPlayError(.ended, "over"))
        status.finish()
        var (commands, losses) = (0, 0)
        for await event in status.events {
            switch event {
            case .command: commands += 1
            case .lost: losses += 1
            }
        }
        // 50 per second, and a machine that stalls in between may enter another second.
        #expect((50...256).contains(commands) && losses == 1, "\(commands)")
    }

    @Test func aCommandAfterTheEndOfTheSessionIsDropped() async {
        let status = SessionStatus()
        status.fail(AirPlayError(.ended, "over"))
        status.publish(.pause)
        status.finish()
        var events = 0
        for await event in status.events {
            events += 1
            if case .command = event { Issue.record("a command follows the loss") }
        }
        #expect(events == 1)
    }

    @Test func aSpeakerThatHangsUpIsLost() throws {
        let (server, connection) = try connect()
        server.hangUp()
        let error = #expect(throws: AirPlayError.self) {
            try connection.exchange("GET", "/info", timeout: .seconds(20))
        }
        #expect(error?.code == .ended)
    }

    @Test(arguments: [
        (401, "pairing-required"), (470, "pairing-required"), (453, "busy"), (454, "ended"), (500, "refused"),
    ])
    func refusalsSayWhatToDo(status: Int, code: String) {
        let error = #expect(throws: AirPlayError.self) { try RTSPResponse(status: status).accepted("play") }
        #expect(error?.code.rawValue == code)
        #expect(error?.status == status)
    }

    @Test(arguments: [401, 470]) func pairingThatFailedIsNotRepeatedByARejoin(status: Int) throws {
        let error = #expect(throws: AirPlayError.self) { try RTSPResponse(status: status).accepted("play") }
        #expect(error?.isMistrust == true)
        var procedure = PairingProcedure(
            .session(stored: nil, password: nil), identity: .generate(identifier: "x"), traits: SpeakerTraits())
        _ = try procedure.begin()
        let refusal = try #require(throws: AirPlayError.self) {
            _ = try procedure.receive(PairingReply(status: status, body: []))
        }
        #expect(refusal.isMistrust)
    }

    @Test(arguments: [403, 453, 503]) func pairingIsRepeatedByARejoinUnlessTheSpeakerRejectsTheKeys(status: Int) throws
    {
        var procedure = PairingProcedure(
            .session(stored: nil, password: nil), identity: .generate(identifier: "x"), traits: SpeakerTraits())
        _ = try procedure.begin()
        let refusal = try #require(throws: AirPlayError.self) {
            _ = try procedure.receive(PairingReply(status: status, body: []))
        }
        #expect(!refusal.isMistrust && refusal.code == (status == 403 ? .refused : .busy))
        #expect(!AirPlayError(.lost, "").isMistrust)
    }

    @Test func speakersConnectToAFewConfigurablePorts() throws {
        let address = NetworkAddress("127.0.0.1")!
        let sockets = try (0..<4).map { _ in try SenderPorts.open(on: address) }
        #expect(Set(sockets.map(\.port)).count == 4)
        #expect(sockets.allSatisfy { SenderPorts.range.contains($0.port) })
    }

    @Test func anUnreachableAddressIsReportedInOneSentence() throws {
        let reserved = try ReservedPort()
        let error = #expect(throws: AirPlayError.self) {
            try TCPSocket.speaker(
                at: .init("127.0.0.1")!, port: UInt16(reserved.number), deadline: .now.advanced(by: .seconds(20)))
        }
        #expect(error?.code == .unreachable)
    }
}

@Suite struct BufferedWriterTests {
    private let key = SecretBytes.random(count: 32)
    private let store = PacketStore(bytes: 256 << 10, packets: 1024)

    private func writer(_ server: LoopbackServer, onWritable: @escaping @Sendable () -> Void = {}) throws
        -> BufferedWriter
    {
        try BufferedWriter(
            socket: try server.connect(), key: key, format: .aac48000, store: store, onWritable: onWritable, ended: {})
    }

    private func append(_ byte: UInt8, _ count: Int, at timestamp: UInt32, _ writer: BufferedWriter) -> Bool {
        let packet = [UInt8](repeating: byte, count: count)
        let isStored = packet.withUnsafeBytes { store.append($0, timestamp: RTPTimestamp(rawValue: timestamp)) }
        writer.wake()
        return isStored
    }

    @Test func packetsArriveInOrderWithTheirTimestamps() throws {
        let server = try LoopbackServer()
        let writer = try writer(server)
        let first = store.nextSequence
        for index in 0..<50 { #expect(append(UInt8(index), 300, at: UInt32(index) * 1024, writer)) }
        var unpacker = BufferedUnpacker(key: key)
        var packets: [BufferedUnpacker.Packet] = []
        while packets.count < 50 { packets += try unpacker.open(server.receive()) }
        #expect(packets.map(\.sequence) == (0..<50).map { (first + $0) % (1 << 23) })
        #expect(packets.map(\.timestamp.rawValue) == (0..<50).map { $0 * 1024 })
        #expect(packets.enumerated().allSatisfy { $1.audio == [UInt8](repeating: UInt8($0), count: 300) })
        writer.close()
        #expect(writer.isOver)
    }

    @Test func aSpeakerThatDoesNotReadFillsTheStoreAndSpaceIsSignalledLater() throws {
        let server = try LoopbackServer()
        let onWritable = Signal()
        let writer = try writer(server) { onWritable.raise() }
        var accepted = 0
        while append(1, 20_000, at: 0, writer), accepted < 10_000 { accepted += 1 }
        #expect(accepted < 10_000)
        #expect(store.waiting > 0)
        // Reading frees space until the writer is signalled.
        var unpacker = BufferedUnpacker(key: key)
        while !onWritable.wait(until: .now.advanced(by: .milliseconds(1))) { _ = try unpacker.open(server.receive()) }
        #expect(append(1, 20_000, at: 0, writer))
        writer.close()
    }

    @Test func droppedPacketsNeverLeaveAndTheNumberingSaysWhereTheNewOnesBegin() throws {
        let server = try LoopbackServer()
        let writer = try writer(server)
        while append(1, 20_000, at: 1, writer) {}
        let next = store.removeAll(next: RTPTimestamp(rawValue: 2))
        #expect(store.waiting == 0)
        #expect(append(9, 1, at: 2, writer))
        var unpacker = BufferedUnpacker(key: key)
        var packets: [BufferedUnpacker.Packet] = []
        while packets.last?.timestamp.rawValue != 2 { packets += try unpacker.open(server.receive()) }
        #expect(packets.last?.sequence == next.sequence)
        #expect(packets.last?.timestamp == next.timestamp)
        #expect(packets.dropLast().allSatisfy { $0.timestamp.rawValue == 1 })
        writer.close()
    }
}
