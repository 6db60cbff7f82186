import MediaCore
import PTP
import Sockets
import TalkieTestKit
import Testing

@testable import AirPlay

/// Facts learned in sessions are stored for years; those that any host may have forged are not.
@Suite struct ClockLessonTests {
    private let clock = ManualClock()
    private let speaker = NetworkAddress("10.0.0.2")!
    private let own = ClockIdentity(rawValue: 1)

    private final class NoWire: PTPWire {
        func port(of channel: PTPChannel) -> UInt16 { channel == .event ? 319 : 320 }
        func send(_ bytes: [UInt8], on channel: PTPChannel, to peer: NetworkAddress) {}
        func receive(
            on channel: PTPChannel, into buffer: inout [UInt8], by clock: any HostClock
        ) -> DatagramSocket.Datagram? { nil }
        func wait(until deadline: HostInstant, or descriptor: Int32, by clock: any HostClock) {}
    }

    /// Returns what is learned from a session in which a host sends as the speaker's clock for three seconds, or sends
    /// nothing.
    private func lesson(isSpeaking: Bool = true, refusing: Bool, isKnown: Bool = false) throws -> SpeakerExperience {
        let instance = try PTPInstance(
            address: NetworkAddress("10.0.0.1")!, identity: own, served: ServedTimeline(clock: clock), wire: NoWire())
        var round = PTPRound(identity: own, beginning: clock.now)
        instance.add(speaker, isFollowed: isKnown)
        if refusing { _ = instance.yield(to: speaker) }
        var writer = PTPMessageWriter(identity: ClockIdentity(rawValue: 0xBAD))
        for sequence in 0..<UInt16(48) {
            instance.engine.beat(&round)
            func send(_ channel: PTPChannel) {
                guard isSpeaking else { return }
                instance.engine.handle(
                    DatagramSocket.Datagram(
                        count: writer.bytes.count, source: speaker, sourcePort: channel == .event ? 319 : 320,
                        received: clock.now), writer.bytes[...], on: channel, &round)
            }
            writer.sync(sequence: sequence)
            send(.event)
            writer.followUp(
                origin: PTPTimestamp(PTPInstant(nanoseconds: clock.now.nanoseconds + 5)), sequence: sequence)
            send(.general)
            clock.advance(by: .milliseconds(125))
        }
        return SpeakerExperience(of: try #require(instance.peer(speaker)))
    }

    @Test func whatOnlySyncsSayIsForgotten() throws { #expect(try lesson(refusing: false) == []) }

    @Test func aSpeakerThatRefusedOurTimeItselfIsRemembered() throws {
        #expect(try lesson(refusing: true) == .insisted)
    }

    @Test func aSpeakerThatIsKnownToInsistAndHasNoClockIsServedTheNextTime() throws {
        #expect(try lesson(isSpeaking: false, refusing: false, isKnown: true) == .declinedToServe)
    }
}
