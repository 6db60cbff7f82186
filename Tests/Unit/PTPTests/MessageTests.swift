import Foundation
import MediaCore
import Sockets
import Testing

@testable import PTP

/// Returns a published message (Tests/Fixtures/airplay-vectors.json, section ptp_messages).
private func vector(_ name: String) throws -> [UInt8] {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Fixtures/airplay-vectors.json")
    let root = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
    let section = root?["ptp_messages"] as? [String: Any]
    let digits = Array(try #require(section?[name] as? String))
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
}

private let clock = ClockIdentity(rawValue: 0xA1B2_C3D4_E5F6_0718)
private let requester = PortIdentity(clock: ClockIdentity(rawValue: 0xAABB_CCFF_FEDD_EEFF), port: 1)
private func time(_ offset: Int64 = 0) -> PTPTimestamp {
    PTPTimestamp(PTPInstant(nanoseconds: 123_456_789_012_345 + offset))
}

@Suite struct PTPMessageTests {
    @Test func everyMessageHasItsPublishedBytes() throws {
        var writer = PTPMessageWriter(identity: clock)
        writer.announce(.sender(clock), sequence: 1)
        #expect(writer.bytes == (try vector("announce_seq1")))
        writer.sync(sequence: 2)
        #expect(writer.bytes == (try vector("sync_seq2")))
        writer.followUp(origin: time(), sequence: 2)
        #expect(writer.bytes == (try vector("follow_up_seq2")))
        writer.delayResponse(received: time(5), requester: requester, sequence: 9)
        #expect(writer.bytes == (try vector("delay_resp_seq9_time_plus_5ns")))
        writer.peerDelayResponse(received: time(5), requester: requester, sequence: 9)
        #expect(writer.bytes == (try vector("pdelay_resp_seq9")))
        writer.peerDelayResponseFollowUp(origin: time(9), requester: requester, sequence: 9)
        #expect(writer.bytes == (try vector("pdelay_resp_follow_up_seq9_time_plus_9ns")))
        writer.signaling(sequence: 3)
        #expect(writer.bytes == (try vector("signaling_seq3")))
        writer.grant([UnicastRequest(messageType: 0xB, logPeriod: 0, duration: 0)], to: requester, sequence: 4)
        #expect(writer.bytes == (try vector("signaling_grant_seq4_announce_300s")))
    }

    @Test func messagesReadBackAsTheyWereWritten() throws {
        let announce = try #require(PTPMessage(try vector("announce_seq1")[...]))
        #expect(announce.content == .announce(.sender(clock), stepsRemoved: 0))
        #expect(announce.header.source == PortIdentity(clock: clock, port: 0x8005))
        let followUp = try #require(PTPMessage(try vector("follow_up_seq2")[...]))
        #expect(followUp.content == .followUp(preciseOrigin: time()))
        #expect(followUp.header.sequence == 2)
        #expect(time().instant == PTPInstant(nanoseconds: 123_456_789_012_345))
        let response = try #require(PTPMessage(try vector("delay_resp_seq9_time_plus_5ns")[...]))
        #expect(response.content == .delayResponse(received: time(5), requester: requester))
        var writer = PTPMessageWriter(identity: clock)
        writer.request(.delayRequest, sequence: 7)
        #expect(PTPMessage(writer.bytes[...])?.content == .delayRequest)
        writer.followUp(origin: time(), sequence: 1, correction: -(5 << 16))
        #expect(PTPMessage(writer.bytes[...])?.header.correction == -(5 << 16))
    }

    @Test func messagesThatAreCutOrOfAnotherDialectAreIgnored() throws {
        for name in ["announce_seq1", "sync_seq2", "follow_up_seq2", "pdelay_resp_seq9", "signaling_seq3"] {
            let whole = try vector(name)
            for cut in 0..<whole.count { #expect(PTPMessage(whole[..<cut]) == nil) }
            #expect(PTPMessage((whole + [0, 0])[...]) != nil, "padding after a message is allowed")
            var other = whole
            other[0] &= 0x0F
            #expect(PTPMessage(other[...]) == nil)
            other = whole
            other[1] = 1
            #expect(PTPMessage(other[...]) == nil)
        }
        var short = try vector("sync_seq2")
        short[3] = 40
        #expect(PTPMessage(short[...]) == nil)
    }

    @Test func absurdTimesAreNotMoments() {
        #expect(PTPTimestamp(seconds: 1, nanoseconds: 1_000_000_000).instant == nil)
        #expect(PTPTimestamp(seconds: (1 << 48) - 1, nanoseconds: 0).instant == nil)
        #expect(PTPTimestamp(PTPInstant(nanoseconds: -5)).instant == PTPInstant(nanoseconds: 0))
    }

    @Test func addressesAreReadStrictly() {
        #expect(NetworkAddress("10.77.0.1")?.description == "10.77.0.1")
        for text in ["", "10.77.0", "10.77.0.256", "10.77.0.-1", "1.2.3.4.5", "a.b.c.d", "1..2.3", "1.2.3.04"] {
            #expect(NetworkAddress(text) == nil)
        }
    }
}

@Suite struct PeerReadinessTests {
    private func at(_ milliseconds: Int64) -> HostInstant { HostInstant(nanoseconds: milliseconds * 1_000_000) }

    @Test func aSilentSpeakerIsReadyOneSecondAfterItsStreamIsSetUp() {
        var peer = PeerReadiness()
        #expect(peer.state(at: at(100_000)) == .cold)
        peer.recordStreamSetUp(at: at(5000))
        #expect(peer.state(at: at(5999)) == .cold)
        #expect(peer.state(at: at(6000)) == .ready)
        #expect(peer.readyInstant == at(6000))
    }

    @Test func aSpeakerKnownToAskIsNotStartedByTimeAlone() {
        var peer = PeerReadiness(isKnownToProbe: true)
        peer.recordStreamSetUp(at: at(0))
        #expect(peer.state(at: at(10_000)) == .cold)
    }

    @Test func aSpeakerThatAsksIsReadyWhenItsStreakIsLongEnough() {
        var peer = PeerReadiness()
        for step in 0..<30 { peer.recordDelayRequest(at: at(1000 + Int64(step) * 125)) }
        #expect(peer.state(at: at(3299)) == .probing)
        #expect(peer.state(at: at(3300)) == .ready)
        var apple = PeerReadiness(manner: .apple)
        for step in 0..<3 { apple.recordDelayRequest(at: at(Int64(step) * 1000)) }
        #expect(apple.state(at: at(2200)) == .probing)
        #expect(apple.state(at: at(2250)) == .ready)
    }

    @Test func aSpeakerThatStopsRequestingStallsAndRestarts() {
        var peer = PeerReadiness()
        for step in 0..<30 { peer.recordDelayRequest(at: at(Int64(step) * 125)) }
        #expect(peer.state(at: at(8000)) == .ready)
        #expect(peer.state(at: at(9000)) == .stalled)
        peer.recordDelayRequest(at: at(20_000))
        #expect(peer.state(at: at(20_000)) == .probing)
        #expect(peer.readyInstant == at(22_300))
    }
}
