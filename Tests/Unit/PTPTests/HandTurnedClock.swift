import MediaCore
import Sockets
import Synchronization
import TalkieTestKit

@testable import PTP

/// A network that delivers only `backlog` datagrams, all from strangers and all at once.
final class SilentWire: PTPWire {
    let backlog = Atomic<Int>(0)

    func port(of channel: PTPChannel) -> UInt16 { channel == .event ? 319 : 320 }
    func send(_ bytes: [UInt8], on channel: PTPChannel, to peer: NetworkAddress) {}
    func wait(until deadline: HostInstant, or descriptor: Int32, by clock: any HostClock) {}

    func receive(
        on channel: PTPChannel, into buffer: inout [UInt8], by clock: any HostClock
    ) -> DatagramSocket.Datagram? {
        guard channel == .event, backlog.load(ordering: .relaxed) > 0 else { return nil }
        backlog.subtract(1, ordering: .relaxed)
        return DatagramSocket.Datagram(
            count: 44, source: NetworkAddress(ipv4: 0x0A00_0063), sourcePort: 319, received: clock.now)
    }
}

/// This computer's PTP instance in virtual time, in a network in which any message can be sent from any address.
final class HandTurnedClock {
    let time = ManualClock()
    let wire = SilentWire()
    let instance: PTPInstance
    let identity = ClockIdentity(rawValue: 0x1122_3344_5566_7788)
    let speaker = NetworkAddress("10.0.0.2")!
    var round: PTPRound

    init() {
        let served = ServedTimeline(clock: time)
        instance = try! PTPInstance(
            address: NetworkAddress("10.0.0.1")!, identity: identity, served: served, wire: wire)
        round = PTPRound(identity: identity, beginning: time.now)
    }

    /// A sender of messages.
    struct Voice {
        var identity: ClockIdentity
        /// Its time minus this computer's.
        var ahead: Duration
        var announces: GrandmasterQuality?
        var ports: (event: UInt16, general: UInt16) = (319, 320)
        var speaksSync = true
    }

    private func deliver(
        _ message: [UInt8], on channel: PTPChannel, from voice: Voice, port: UInt16? = nil
    ) {
        let own = channel == .event ? voice.ports.event : voice.ports.general
        instance.engine.handle(
            DatagramSocket.Datagram(
                count: message.count, source: speaker, sourcePort: port ?? own, received: time.now),
            message[...], on: channel, &round)
    }

    /// Delivers a Sync with its Follow_Up, and an Announce, from the speaker's address.
    func speak(_ voice: Voice, _ sequence: UInt16) {
        var writer = PTPMessageWriter(identity: voice.identity)
        if let quality = voice.announces {
            writer.announce(quality, sequence: sequence)
            deliver(writer.bytes, on: .general, from: voice)
        }
        if voice.speaksSync {
            writer.sync(sequence: sequence)
            deliver(writer.bytes, on: .event, from: voice)
        }
        let now = PTPInstant(nanoseconds: time.now.nanoseconds).advanced(by: voice.ahead)
        writer.followUp(origin: PTPTimestamp(now), sequence: sequence)
        deliver(writer.bytes, on: .general, from: voice)
    }

    /// Delivers a forged Follow_Up between the true Sync and its Follow_Up.
    func interleave(_ voice: Voice, before forger: Voice, _ sequence: UInt16) {
        var writer = PTPMessageWriter(identity: voice.identity)
        writer.sync(sequence: sequence)
        deliver(writer.bytes, on: .event, from: voice)
        speak(forger, sequence)
        writer.followUp(
            origin: PTPTimestamp(PTPInstant(nanoseconds: time.now.nanoseconds).advanced(by: voice.ahead)),
            sequence: sequence)
        deliver(writer.bytes, on: .general, from: voice)
    }

    func sendDelayRequest(from port: UInt16, on channel: PTPChannel = .event, sequence: UInt16 = 1) {
        let voice = Voice(identity: ClockIdentity(rawValue: 99), ahead: .zero)
        var writer = PTPMessageWriter(identity: voice.identity)
        writer.request(.delayRequest, sequence: sequence)
        deliver(writer.bytes, on: channel, from: voice, port: port)
    }

    /// Runs eight beats per second; all senders send in each.
    func pass(_ seconds: Double, _ voices: Voice...) {
        for _ in 0..<Int(seconds * 8) {
            instance.engine.beat(&round)
            beats &+= 1
            for voice in voices {
                time.advance(by: .microseconds(100))
                speak(voice, beats)
            }
            time.advance(by: .milliseconds(125) - .microseconds(100) * voices.count)
        }
    }

    private var beats: UInt16 = 0

    /// The timeline for the speaker's anchors minus this computer's time, in seconds.
    var ahead: Double? {
        instance.timeline(for: speaker).map {
            Double($0.mapping.target(at: time.now).nanoseconds - time.now.nanoseconds) / 1e9
        }
    }
}
