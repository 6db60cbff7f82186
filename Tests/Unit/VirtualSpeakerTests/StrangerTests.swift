import AirPlayWire
import MediaCore
import Sockets
import SpeakerTestSupport
import Testing

@testable import VirtualSpeaker

@Suite struct ConnectionSlotsTests {
    private func seat(_ source: UInt32, _ standing: Standing = .stranger) -> ConnectionSlots.Slot {
        .init(source: NetworkAddress(ipv4: source), standing: standing)
    }

    @Test func theOldestStrangerGivesWayThenTheOldestWithoutASession() {
        #expect(ConnectionSlots.vacated([seat(1, .paired), seat(1), seat(1)]) == 1)
        #expect(ConnectionSlots.vacated([seat(1, .begun), seat(1, .paired), seat(1, .paired)]) == 1)
    }

    @Test func aSessionIsNotDisplaced() {
        #expect(ConnectionSlots.vacated([seat(1, .begun)]) == nil)
        #expect(ConnectionSlots.vacated([]) == nil)
    }

    @Test func aFloodingAddressLosesItsOwnConnections() {
        let seats = [seat(1), seat(2)] + (0..<14).map { _ in seat(3, .paired) }
        #expect(ConnectionSlots.vacated(seats) == 2)
    }
}

@Suite struct RequestTimeoutsTests {
    private let start = HostInstant(nanoseconds: 0)

    @Test func aByteNowAndThenBuysAStrangerNoTime() {
        var conversation = ControlConversation(backend: NotedBackend())
        var timeout = RequestTimeouts(now: start)
        var now = start
        for byte in RTSPRequest("GET", "/info").encoded() {
            now = now.advanced(by: .seconds(8))
            if timeout.verdict(conversation.session.standing, at: now) != nil { break }
            _ = conversation.receive([byte])
            timeout.heard(completed: conversation.requests > 0, isPartial: conversation.isPartial, at: now)
        }
        #expect(conversation.requests == 0)
        #expect(now - start <= .seconds(24))
    }

    @Test func blankLinesAreNoRequest() {
        var conversation = ControlConversation(backend: NotedBackend())
        var timeout = RequestTimeouts(now: start)
        var now = start
        while timeout.verdict(.stranger, at: now) == nil, now - start < .seconds(600) {
            _ = conversation.receive(Array("\r\n".utf8))
            timeout.heard(completed: false, isPartial: conversation.isPartial, at: now)
            now = now.advanced(by: .seconds(20))
        }
        #expect(now - start == .seconds(80))
    }

    @Test func aSenderThatAsksNowAndThenStaysAndASessionsPictureMayTakeItsTime() {
        var timeout = RequestTimeouts(now: start)
        var now = start
        for _ in 0..<10 {
            now = now.advanced(by: .seconds(59))
            #expect(timeout.verdict(.stranger, at: now) == nil)
            timeout.heard(completed: true, isPartial: false, at: now)
        }
        timeout.heard(completed: false, isPartial: true, at: now)
        now = now.advanced(by: .seconds(30))
        #expect(timeout.verdict(.begun, at: now) == nil)
        #expect(timeout.verdict(.paired, at: now) == "a request took too long")
    }
}

@Suite struct StrangersOnTheNetworkTests {
    private let home = NetworkAddress.loopback

    private func connect(_ speaker: SoftwareSpeaker) throws -> TCPSocket {
        try TCPSocket.connect(to: home, port: speaker.port, deadline: .now.advanced(by: .seconds(5)))
    }

    /// Returns the status of /info; nil if the connection was closed instead.
    private func askInfo(_ stream: TCPSocket) throws -> Int? {
        let deadline = HostInstant.now.advanced(by: .seconds(10))
        guard stream.sendCompletely(RTSPRequest("GET", "/info").encoded(), until: deadline) else { return nil }
        var parser = RTSPParser()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            guard let count = try? stream.receive(into: &buffer, deadline: deadline), count > 0 else { return nil }
            parser.append(buffer[..<count])
            if case .response(let response)? = try parser.next() { return response.status }
        }
    }

    @Test func aSenderFindsAPlaceWhileSilentConnectionsHoldThemAll() throws {
        let speaker = try SoftwareSpeaker(SpeakerConfiguration(address: home, port: 0, clock: .never))
        defer { speaker.stop() }
        let silent = try (0..<ControlServer.connectionLimit).map { _ in try connect(speaker) }
        func count(_ record: SpeakerRecord) -> Int {
            record.events.count { if case .connected = $0 { true } else { false } }
        }
        #expect(
            speaker.record.wait(until: .now.advanced(by: .seconds(10))) {
                count($0) == ControlServer.connectionLimit
            })
        let sender = try connect(speaker)
        #expect(try askInfo(sender) == 200)
        // The oldest connection was closed; the newest is still served.
        var buffer = [UInt8](repeating: 0, count: 16)
        #expect(try silent[0].receive(into: &buffer, deadline: .now.advanced(by: .seconds(10))) == 0)
        #expect(try askInfo(try #require(silent.last)) == 200)
    }
}
