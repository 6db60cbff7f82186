import MediaCore
internal import Sockets

@testable import PTP

/// Counts sent messages, and those sent to unknown addresses.
private final class CountingWire: PTPWire {
    let said = Lock<(count: Int, strangers: Int)>((0, 0))
    let known: Set<NetworkAddress>

    init(_ known: Set<NetworkAddress>) { self.known = known }

    func port(of channel: PTPChannel) -> UInt16 { channel == .event ? 319 : 320 }
    func send(_ bytes: [UInt8], on channel: PTPChannel, to peer: NetworkAddress) {
        let isKnown = known.contains(peer)
        said.withLock { $0 = ($0.count + 1, $0.strangers + (isKnown ? 0 : 1)) }
    }
    func receive(
        on channel: PTPChannel, into buffer: inout [UInt8], by clock: any HostClock
    ) -> DatagramSocket.Datagram? { nil }
    func wait(until deadline: HostInstant, or descriptor: Int32, by clock: any HostClock) {}
}

private final class TurnedClock: HostClock {
    private let moment = Lock(HostInstant(nanoseconds: 1_000_000_000_000))
    var now: HostInstant { moment.withLock { $0 } }
    func pass(_ time: Duration) { moment.withLock { $0 = $0.advanced(by: time) } }
}

/// Runs a sender's engine in a network of two speakers and a stranger. Three bytes precede each message. The first is
/// its length. The second selects sender, source and destination port, and an action of the player or a speaker, which
/// may leave and return. The third is the pause before it, in hundredths of a second or tens of seconds.
func converse(_ bytes: ArraySlice<UInt8>) {
    let speakers = [NetworkAddress(ipv4: 0x0A00_0002), NetworkAddress(ipv4: 0x0A00_0003)]
    let stranger = NetworkAddress(ipv4: 0x0A00_0063)
    let (clock, wire) = (TurnedClock(), CountingWire(Set(speakers)))
    let own = ClockIdentity(rawValue: 1)
    let instance = try! PTPInstance(
        address: NetworkAddress(ipv4: 0x0A00_0001), identity: own, served: ServedTimeline(clock: clock), wire: wire)
    var round = PTPRound(identity: own, beginning: clock.now)
    for speaker in speakers {
        instance.add(speaker)
        instance.recordStreamSetUp(speaker)
    }
    var heardOnOurs: Set<NetworkAddress> = []
    var rest = bytes
    while rest.count > 3 {
        let (length, manner, pause) = (
            Int(rest[rest.startIndex]), rest[rest.startIndex + 1], Int64(rest[rest.startIndex + 2])
        )
        rest = rest.dropFirst(3)
        let before = (host: clock.now, ours: instance.served.instant(at: clock.now))
        clock.pass(manner & 64 == 0 ? .milliseconds(pause * 10) : .seconds(pause * 10))
        let saidBefore = wire.said.withLock { $0.count }
        instance.engine.beat(&round)
        // After any pause at most one greeting and one round of four messages per peer are sent.
        precondition(wire.said.withLock { $0.count } - saidBefore <= 16)
        let source = manner & 1 == 0 ? speakers[0] : manner & 2 == 0 ? speakers[1] : stranger
        let speaker = manner & 1 == 0 ? speakers[0] : speakers[1]
        switch manner >> 2 & 3 {
        case 1:
            instance.setPlaying(true, for: speaker)
            if instance.peer(speaker)?.isFollowed == false { heardOnOurs.insert(speaker) }
        case 2: instance.setPlaying(false, for: speaker)
        case 3: instance.setPathCorrection(.milliseconds(pause), for: speaker)
        default: break
        }
        if manner & 128 != 0 {
            // A new session may play by the speaker's clock.
            heardOnOurs.remove(speaker)
            if pause & 1 == 0 { instance.remove(speaker) } else { instance.add(speaker, isFollowed: pause & 2 != 0) }
            if pause & 4 != 0 { instance.yield(to: speaker) }
        }
        let message = rest.prefix(length)
        rest = rest.dropFirst(length)
        let isEvent = (message.first.map { $0 & 0xF < 8 } ?? false) != (manner & 32 != 0)
        let isForeign = manner & 16 != 0
        let said = wire.said.withLock { $0.count }
        let questions = instance.peer(source)?.readiness.probes
        let isDropped = isForeign && instance.peer(source)?.usesPTPPorts == true
        let datagram = DatagramSocket.Datagram(
            count: message.count, source: source, sourcePort: isForeign ? 40000 : isEvent ? 319 : 320,
            received: clock.now)
        instance.engine.handle(datagram, message, on: isEvent ? .event : .general, &round)

        precondition(round.observers.count <= speakers.count)
        precondition(
            instance.engine.shared.withLock { $0.peers.count <= speakers.count && $0.greeted.count <= $0.peers.count })
        // At most one response with its follow-up; none to a stranger, and none to a port other than PTP's once a
        // speaker has used these.
        let answers = wire.said.withLock { $0.count } - said
        precondition(answers <= 2 && wire.said.withLock { $0.strangers } == 0)
        if isDropped || source == stranger {
            precondition(answers == 0 && instance.peer(source)?.readiness.probes == questions)
        }
        // The served time never steps, whichever master is followed.
        let passed = Double((clock.now - before.host).wholeNanoseconds)
        let served = Double(before.ours.duration(to: instance.served.instant(at: clock.now)).wholeNanoseconds)
        precondition(abs(served - passed) <= passed * ServedTimeline.largestBend * 1.001 + 4)
        for speaker in speakers {
            precondition(!heardOnOurs.contains(speaker) || instance.peer(speaker)?.isFollowed == false)
            _ = instance.peer(speaker)?.isDoubted(at: clock.now)
            guard let timeline = instance.timeline(for: speaker) else { continue }
            precondition(abs(timeline.mapping.rateOffset) <= ServedTimeline.largestBend)
            precondition(timeline.grandmaster == own || instance.peer(speaker)?.isFollowed == true)
            precondition(instance.peer(speaker) != nil || timeline.grandmaster == own, "who is gone leads nobody")
            _ = timeline.mapping.source(at: timeline.mapping.target(at: clock.now))
        }
    }
}
