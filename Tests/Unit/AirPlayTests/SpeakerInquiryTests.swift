import AirPlayWire
import MediaCore
import PTP
import Sockets
import Testing

@testable import AirPlay
@testable import AirPlayTransport

@Suite(.timeLimit(.minutes(10))) struct SpeakerInquiryTests {
    private let identity = SenderIdentity(rawValue: 0xA1B2_C3D4_E5F6_0718, name: "Test")

    /// Queries a receiver that sends these bytes.
    private func inquire(_ answer: [UInt8]) throws -> DiscoveredSpeaker {
        let server = try LoopbackServer()
        let receiver = try! WorkerThread.start(name: "receiver") { server.answerNext(answer) }
        defer { receiver.join() }
        return try SpeakerInquiry.ask(
            SpeakerAddress(host: "127.0.0.1", port: server.port), as: identity,
            until: .now.advanced(by: .seconds(60)), pauses: { _ in false })
    }

    private func reply(_ status: String, _ body: [UInt8] = []) -> [UInt8] {
        Array("RTSP/1.0 \(status)\r\nCSeq: 1\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    @Test func aReceiverIdentifiesItself() throws {
        let info: PropertyList = [
            "name": "Den\u{1B}[2J", "deviceID": "02:00:00:00:00:01", "features": .integer(1 << 9 | 1 << 38),
            "statusFlags": .integer(0x204), "sourceVersion": "366.0",
        ]
        let speaker = try inquire(reply("200 OK", info.binary()))
        #expect(speaker.name == "Den\u{FFFD}[2J")
        #expect(speaker.id == SpeakerID("020000000001") && speaker.endpoint?.address.description == "127.0.0.1")
        #expect(speaker.traits.needsPIN && speaker.traits.sourceVersion == "366.0")
    }

    private func record(_ strings: String...) -> PropertyList {
        .data(strings.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) })
    }

    /// A speaker that is named by its address is driven as one that is found by its announcement.
    @Test func aReceiverStatesItsAnnouncementToo() throws {
        var info: [String: PropertyList] = [
            "deviceID": "02:00:00:00:00:01", "model": "AudioAccessory5,1",
            "features": .integer(1 << 9 | 1 << 38 | 1 << 41),
            "txtAirPlay": record("igl=1", "osvers=27.0", "manufacturer=Apple Inc.", "features=0x1"),
        ]
        let single = try inquire(reply("200 OK", PropertyList.dictionary(info).binary()))
        #expect(single.traits.manufacturer == "Apple Inc." && single.traits.features?.contains(.ptp) == true)
        #expect(RouteDecision.decide(for: single).role == .follower)
        info["txtAirPlay"] = record("igl=1", "osvers=27.0", "tsid=T", "pgid=P", "acl=1")
        let member = try inquire(reply("200 OK", PropertyList.dictionary(info).binary()))
        #expect(member.traits.group.stereoPair == "T" && member.traits.group.parentGroup == "P")
        #expect(RouteDecision.decide(for: member).verdict == .impossible(.restricted))
        info["txtAirPlay"] = .data([UInt8](repeating: 1, count: 70_000))
        #expect(try inquire(reply("200 OK", PropertyList.dictionary(info).binary())).traits.group.isEmpty)
        // The network's announcement is newer.
        var known = SpeakerTraits()
        known.group.stereoPair = "U"
        info["txtAirPlay"] = record("tsid=T")
        #expect(known.updated(by: ReceiverInfo(.dictionary(info))).group.stereoPair == "U")
    }

    @Test(arguments: ["404 Not Found", "501 Not Implemented", "400 Bad Request", "401 Unauthorized"])
    func oneThatKnowsNoInfoIsAReceiverOfClassicAirPlay(status: String) throws {
        let speaker = try inquire(reply(status))
        #expect(speaker.endpoints.isEmpty && speaker.raopEndpoints.count == 1)
        #expect(speaker.traits.needsPassword == status.hasPrefix("401"))
        #expect(RouteDecision.decide(for: speaker).verdict == .impossible(.needsAirPlay1))
    }

    @Test func nonsenseIsNoSpeakerAndNotAskedForAgain() throws {
        let error = #expect(throws: AirPlayError.self) { try inquire(reply("200 OK", [1, 2, 3])) }
        #expect(error?.code == .protocolViolation)
    }

    @Test func aStartingSpeakerIsRetriedUntilTheDeadlineOrAnInterruption() throws {
        // A port that was just closed, so that connections are refused.
        let port = try LoopbackServer().port
        var pauses = 0
        let error = #expect(throws: AirPlayError.self) {
            try SpeakerInquiry.ask(
                SpeakerAddress(host: "127.0.0.1", port: port), as: identity, until: .now.advanced(by: .seconds(3600))
            ) { _ in
                pauses += 1
                return pauses < 4
            }
        }
        #expect(error?.code == .unreachable && pauses == 4)
    }

    @Test func aSessionThatYieldsRecordsTheFlagsOfTheOtherSenderUntilOneConnects() throws {
        let server = try LoopbackServer()
        let info: PropertyList = ["statusFlags": .integer(0x2_0004)]
        let answer = reply("200 OK", info.binary())
        let receiver = try WorkerThread.start(name: "receiver") { server.answerNext(answer) }
        defer { receiver.join() }
        var configuration = AirPlaySession.Configuration(
            address: SpeakerAddress(host: "127.0.0.1", port: server.port), identity: identity)
        configuration.route = .realtimeNTP
        let session = AirPlaySession(configuration, clocks: PTPDirectory(identity: identity.clock))
        defer { session.end() }
        let error = #expect(throws: AirPlayError.self) { try session.connect(yieldingTo: [.busy, .playing]) }
        #expect(error?.code == .busy && configuration.observations.refusals.busyFlags == [.busy, .playing])
        configuration.observations.recordConnection()
        #expect(configuration.observations.refusals.busyFlags.isEmpty)
    }
}
