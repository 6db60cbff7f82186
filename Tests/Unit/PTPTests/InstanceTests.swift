import Glibc
import MediaCore
import Sockets
import Testing

@testable import PTP

/// The sockets of a speaker in a test: another loopback address with the same ports.
private struct Listener {
    let address: NetworkAddress
    let event: DatagramSocket
    let general: DatagramSocket
    let ports: (event: UInt16, general: UInt16)

    init(_ address: NetworkAddress, ports: (event: UInt16, general: UInt16)) throws {
        self.address = address
        self.ports = ports
        event = try PTPPorts.open(address, ports.event)
        general = try PTPPorts.open(address, ports.general)
    }

    /// Returns the first value of `select` for a received message; nil after twenty seconds.
    func next<Result>(
        on socket: DatagramSocket, _ select: (PTPMessage, DatagramSocket.Datagram) -> Result?
    ) -> Result? {
        var buffer = [UInt8](repeating: 0, count: 2048)
        let deadline = HostInstant.now.advanced(by: .seconds(20))
        while HostInstant.now < deadline {
            guard let datagram = socket.receive(into: &buffer) else {
                var arrival = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
                poll(&arrival, 1, Int32(max(0, (deadline - .now).inMilliseconds)))
                continue
            }
            if let message = PTPMessage(buffer[..<datagram.count]), let result = select(message, datagram) {
                return result
            }
        }
        return nil
    }
}

@Suite(.serialized) struct PTPInstanceTests {
    private let master = NetworkAddress("127.0.0.1")!
    private let speaker = NetworkAddress("127.0.0.2")!
    private let clock = ClockIdentity(rawValue: 0x1122_3344_5566_7788)

    private func start(_ ports: (UInt16, UInt16)) throws -> PTPInstance {
        try PTPInstance(address: master, identity: clock, eventPort: ports.0, generalPort: ports.1)
    }

    @Test func aNewSpeakerReceivesAnnounceAndSync() throws {
        let ports: (UInt16, UInt16) = (32319, 32320)
        let listener = try Listener(speaker, ports: ports)
        let instance = try start(ports)
        defer { instance.stop() }
        let added = HostInstant.now
        instance.add(speaker)
        let announced = listener.next(on: listener.general) { message, datagram in
            if case .announce(let quality, _) = message.content { return (quality, datagram) }
            return nil
        }
        #expect(announced?.0 == .sender(clock))
        #expect(announced?.1.sourcePort == ports.1, "receivers drop time whose source port is not the same")
        let sync = listener.next(on: listener.event) { message, datagram in
            message.content == .sync ? (message.header.sequence, datagram) : nil
        }
        let followUp = listener.next(on: listener.general) { message, _ -> PTPTimestamp? in
            guard case .followUp(let origin) = message.content, message.header.sequence == sync?.0 else { return nil }
            return origin
        }
        let origin = try #require(followUp?.instant)
        #expect(origin.nanoseconds >= added.nanoseconds && origin.nanoseconds <= HostInstant.now.nanoseconds)
        #expect(sync?.1.sourcePort == ports.0)
    }

    @Test func questionsAreAnsweredWithTheirTimeOfReceiptAndCounted() throws {
        let ports: (UInt16, UInt16) = (32321, 32322)
        let listener = try Listener(speaker, ports: ports)
        let instance = try start(ports)
        defer { instance.stop() }
        instance.add(speaker)
        var writer = PTPMessageWriter(identity: ClockIdentity(rawValue: 99))
        writer.request(.delayRequest, sequence: 41)
        let asked = HostInstant.now
        listener.event.send(writer.bytes, to: master, port: ports.0)
        let answer = listener.next(on: listener.general) { message, _ -> (PTPTimestamp, PortIdentity)? in
            guard case .delayResponse(let received, let requester) = message.content, message.header.sequence == 41
            else { return nil }
            return (received, requester)
        }
        let received = try #require(answer?.0.instant)
        #expect(answer?.1.clock.rawValue == 99)
        // 1 ms of tolerance: the kernel's timestamp is from another clock, read at another time.
        #expect(received.nanoseconds >= asked.nanoseconds - 1_000_000)
        #expect(received.nanoseconds <= HostInstant.now.nanoseconds + 1_000_000)
        writer.request(.peerDelayRequest, sequence: 42)
        listener.event.send(writer.bytes, to: master, port: ports.0)
        let peerAnswer = listener.next(on: listener.event) { message, _ in
            if case .peerDelayResponse = message.content { return message.header.sequence }
            return nil
        }
        #expect(peerAnswer == 42)
        // A request is counted after its answer was sent.
        let areCounted = listener.next(on: listener.general) { _, _ -> Bool? in
            instance.peer(speaker)?.readiness.probes == 2 ? true : nil
        }
        #expect(areCounted == true)
        #expect(instance.readiness(of: speaker) == .probing)
    }

    @Test func aBetterAnnouncementAloneDoesNotSilenceTheMaster() throws {
        let ports: (UInt16, UInt16) = (32323, 32324)
        let listener = try Listener(speaker, ports: ports)
        let instance = try start(ports)
        defer { instance.stop() }
        instance.add(speaker)
        var writer = PTPMessageWriter(identity: ClockIdentity(rawValue: 7))
        var better = GrandmasterQuality.sender(ClockIdentity(rawValue: 7))
        better.priority1 = 1
        writer.announce(better, sequence: 1)
        listener.general.send(writer.bytes, to: master, port: ports.1)
        let announcedAfter = listener.next(on: listener.general) { message, _ -> Bool? in
            guard instance.peer(speaker)?.announcements == 1, case .announce = message.content else { return nil }
            return true
        }
        #expect(announcedAfter == true)
        #expect(instance.peer(speaker)?.announced?.priority1 == 1)
        #expect(instance.timeline(for: speaker)?.grandmaster == clock)
        #expect(instance.peer(speaker)?.isFollowed == false)
    }

    @Test func aPathCorrectionReachesSpeakersThatDoNotAsk() throws {
        let ports: (UInt16, UInt16) = (32325, 32326)
        let listener = try Listener(speaker, ports: ports)
        let instance = try start(ports)
        defer { instance.stop() }
        instance.add(speaker)
        instance.setPathCorrection(.seconds(1), for: speaker)
        let correction = listener.next(on: listener.general) { message, _ -> Int64? in
            guard case .followUp = message.content, message.header.correction != 0 else { return nil }
            return message.header.correction
        }
        #expect(correction == 50_000_000 << 16)
    }

    @Test func aPathCorrectionThatChangesWhileSoundPlaysMovesByInaudibleSteps() {
        var peer = PTPPeer(address: speaker, readiness: PeerReadiness())
        peer.pathCorrection = .milliseconds(20)
        #expect(peer.nextCorrection() == .milliseconds(20))
        peer.isPlaying = true
        peer.pathCorrection = .milliseconds(10)
        var last = peer.correctionInForce
        for _ in 0..<799 {
            let next = peer.nextCorrection()
            #expect(last - next == .nanoseconds(12_500))
            last = next
        }
        #expect(peer.nextCorrection() == .milliseconds(10))
        #expect(peer.nextCorrection() == .milliseconds(10))
        // A step is inaudible while nothing plays.
        peer.isPlaying = false
        peer.pathCorrection = .zero
        #expect(peer.nextCorrection() == .zero)
    }

    @Test func aSpeakerThatAsksForTheTimeIsCorrectedNoLonger() {
        var peer = PTPPeer(address: speaker, readiness: PeerReadiness())
        peer.isPlaying = true
        peer.pathCorrection = .milliseconds(20)
        for _ in 0..<10 { _ = peer.nextCorrection() }
        #expect(peer.correctionInForce == .microseconds(125))
        peer.readiness.recordDelayRequest(at: .now)
        #expect(peer.nextCorrection() == .zero)
        var known = PTPPeer(address: speaker, readiness: PeerReadiness(isKnownToProbe: true))
        known.pathCorrection = .milliseconds(20)
        #expect(known.nextCorrection() == .zero)
    }

    @Test func aSpeakerThatSendsTimeAndAsksForNoneIsFollowedAndSentNoMore() throws {
        let ports: (UInt16, UInt16) = (32333, 32334)
        let listener = try Listener(speaker, ports: ports)
        let stranger = try Listener(NetworkAddress("127.0.0.3")!, ports: ports)
        let instance = try start(ports)
        defer { instance.stop() }
        instance.add(speaker)
        instance.recordStreamSetUp(speaker)
        let theirs = ClockIdentity(rawValue: 7)
        var (writer, lie) = (PTPMessageWriter(identity: theirs), PTPMessageWriter(identity: ClockIdentity(rawValue: 8)))
        func speak(_ sequence: UInt16) {
            writer.sync(sequence: sequence)
            // Read before sending: what this thread waits for a processor then counts as a delay on the network, of
            // which the shortest one decides.
            let origin = PTPInstant(nanoseconds: HostInstant.now.nanoseconds + 5_000_000_000)
            listener.event.send(writer.bytes, to: master, port: ports.0)
            writer.followUp(origin: PTPTimestamp(origin), sequence: sequence)
            listener.general.send(writer.bytes, to: master, port: ports.1)
            // From an address without a session: ignored.
            lie.sync(sequence: sequence)
            stranger.event.send(lie.bytes, to: master, port: ports.0)
            lie.followUp(origin: PTPTimestamp(PTPInstant(nanoseconds: 1)), sequence: sequence)
            stranger.general.send(lie.bytes, to: master, port: ports.1)
        }
        // Returns the instance's next beat, eight per second: Sync while it serves, then delay requests.
        func beat() -> PTPMessageType? { listener.next(on: listener.event) { message, _ in message.header.type } }
        for sequence in 0..<UInt16(12) {
            speak(sequence)
            try #require(beat() != nil)
        }
        #expect(instance.peer(speaker)?.isFollowed == true)
        #expect(instance.readiness(of: speaker) == .ready)
        let timeline = try #require(instance.timeline(for: speaker))
        #expect(timeline.grandmaster == theirs)
        let now = HostInstant.now
        let ahead = timeline.mapping.target(at: now).nanoseconds - now.nanoseconds - 5_000_000_000
        #expect(abs(ahead) < 5_000_000, "\(ahead) ns")
        #expect(instance.timeline(for: NetworkAddress("127.0.0.3")!)?.grandmaster == clock, "others are served")
        // Queued messages are old; afterwards only delay requests arrive.
        var buffer = [UInt8](repeating: 0, count: 2048)
        while listener.event.receive(into: &buffer) != nil {}
        var kinds: Set<PTPMessageType> = []
        for sequence in 12..<UInt16(20) {
            speak(sequence)
            kinds.insert(try #require(beat()))
        }
        #expect(kinds == [.delayRequest])
    }

    @Test func aSpeakerThatWasTakenForAMasterAndIsNoneIsServedAgain() {
        let began = HostInstant(nanoseconds: 1_000_000_000_000)
        var peer = PTPPeer(address: speaker, readiness: PeerReadiness(), isFollowed: true, now: began)
        peer.reconsiderRole(at: began.advanced(by: .seconds(3)))
        #expect(peer.isFollowed)
        peer.reconsiderRole(at: began.advanced(by: .seconds(4)))
        #expect(!peer.isFollowed)
        let yieldsAgain = peer.yield(at: began.advanced(by: .seconds(5)))
        #expect(!yieldsAgain, "once a session")
        // A clock of the speaker is sufficient evidence, but not after audio was played on our time.
        peer.syncs = 8
        var heard = peer
        heard.isPlaying = true
        heard.reconsiderRole(at: began.advanced(by: .seconds(6)))
        #expect(!heard.isFollowed)
        heard.isPlaying = false
        heard.reconsiderRole(at: began.advanced(by: .seconds(6)))
        #expect(!heard.isFollowed)
        peer.reconsiderRole(at: began.advanced(by: .seconds(6)))
        #expect(peer.isFollowed)
    }

    @Test func aSpeakerThatAsksForOurTimeIsServedThoughItSendsItsOwn() {
        var peer = PTPPeer(address: speaker, readiness: PeerReadiness())
        peer.readiness.recordDelayRequest(at: .now)
        peer.syncs = 100
        peer.reconsiderRole(at: .now)
        #expect(!peer.isFollowed)
    }

    @Test func nothingThatASpeakerSendsStopsTheClock() throws {
        let ports: (UInt16, UInt16) = (32335, 32336)
        let listener = try Listener(speaker, ports: ports)
        let witness = try Listener(NetworkAddress("127.0.0.3")!, ports: ports)
        let instance = try start(ports)
        defer { instance.stop() }
        instance.add(speaker)
        instance.add(witness.address)
        var question = PTPMessageWriter(identity: ClockIdentity(rawValue: 10))
        var random: UInt64 = 88_172_645_463_325_252
        func draw() -> UInt64 {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return random
        }
        var writer = PTPMessageWriter(identity: ClockIdentity(rawValue: 9))
        for round in 0..<4000 {
            switch draw() % 4 {
            case 0: writer.sync(sequence: UInt16(round / 8))
            case 1:
                writer.followUp(
                    origin: PTPTimestamp(seconds: draw() >> 16, nanoseconds: UInt32(truncatingIfNeeded: draw())),
                    sequence: UInt16(round / 8), correction: Int64(bitPattern: draw()))
            case 2: writer.announce(.sender(ClockIdentity(rawValue: draw())), sequence: UInt16(round))
            default:
                writer.delayResponse(
                    received: PTPTimestamp(seconds: draw() >> 20, nanoseconds: 5),
                    requester: PortIdentity(clock: clock, port: 0x8005), sequence: UInt16(draw() % 64))
            }
            var bytes = writer.bytes
            // Some messages are damaged, and some are truncated.
            if draw() % 3 == 0 { bytes[Int(draw() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: draw()) }
            if draw() % 9 == 0 { bytes.removeLast(Int(draw() % UInt64(bytes.count))) }
            let isEvent = draw() % 2 == 0
            (isEvent ? listener.event : listener.general).send(bytes, to: master, port: isEvent ? ports.0 : ports.1)
            // Limits the messages in flight to a socket's buffer: when another speaker's request is answered, all
            // before it are read.
            guard round % 100 == 99 else { continue }
            question.request(.delayRequest, sequence: UInt16(round))
            witness.event.send(question.bytes, to: master, port: ports.0)
            let isRead = witness.next(on: witness.general) { message, _ -> Bool? in
                guard case .delayResponse = message.content, message.header.sequence == round else { return nil }
                return true
            }
            try #require(isRead == true, "round \(round)")
        }
        writer.request(.delayRequest, sequence: 4711)
        listener.event.send(writer.bytes, to: master, port: ports.0)
        let answered = listener.next(on: listener.general) { message, _ -> Bool? in
            guard case .delayResponse = message.content, message.header.sequence == 4711 else { return nil }
            return true
        }
        #expect(answered == true)
        if let timeline = instance.timeline(for: speaker) {
            #expect(abs(timeline.mapping.rateOffset) <= ServedTimeline.largestBend)
        }
    }

    @Test func strangersGetNoAnswer() throws {
        let ports: (UInt16, UInt16) = (32327, 32328)
        let stranger = try Listener(NetworkAddress("127.0.0.3")!, ports: ports)
        let listener = try Listener(speaker, ports: ports)
        let instance = try start(ports)
        defer { instance.stop() }
        instance.add(speaker)
        var writer = PTPMessageWriter(identity: ClockIdentity(rawValue: 99))
        writer.request(.delayRequest, sequence: 1)
        stranger.event.send(writer.bytes, to: master, port: ports.0)
        // The known speaker's request follows the stranger's; its response shows that both were read.
        listener.event.send(writer.bytes, to: master, port: ports.0)
        let answered = listener.next(on: listener.general) { message, _ -> Bool? in
            if case .delayResponse = message.content { return true }
            return nil
        }
        #expect(answered == true)
        var buffer = [UInt8](repeating: 0, count: 64)
        #expect(stranger.general.receive(into: &buffer) == nil)
    }

    @Test func aSecondUserOfThePortsIsReported() throws {
        let ports: (UInt16, UInt16) = (32329, 32330)
        let instance = try start(ports)
        defer { instance.stop() }
        let error = #expect(throws: PTPError.self) { try start(ports) }
        #expect(error?.code == .portsBusy)
        let other = try PTPInstance(address: speaker, identity: clock, eventPort: ports.0, generalPort: ports.1)
        other.stop()
    }

    @Test func reservedPortsAreHeldUntilTheyAreRequestedOrReleased() throws {
        let ports: (UInt16, UInt16) = (32333, 32334)
        let directory = PTPDirectory(identity: clock, eventPort: ports.0, generalPort: ports.1)
        try directory.reserve(on: master)
        #expect(throws: PTPError.self) { try start(ports) }
        // The session takes the reserved instance over; a release no longer concerns it.
        var session: PTPInstance? = try directory.instance(on: master)
        directory.releaseReservations()
        #expect(throws: PTPError.self) { try start(ports) }
        #expect(try directory.instance(on: master) === session)
        session = nil
        try directory.reserve(on: master)
        directory.releaseReservations()
        try start(ports).stop()
        // Another program took them first: the route without PTP is chosen, and no session fails later.
        let other = try start(ports)
        defer { other.stop() }
        let error = #expect(throws: PTPError.self) { try directory.reserve(on: master) }
        #expect(error?.code == .portsBusy)
    }

    @Test func oneAddressHasOneInstanceWhileRetained() throws {
        let directory = PTPDirectory(identity: clock, eventPort: 32331, generalPort: 32332)
        var first: PTPInstance? = try directory.instance(on: master)
        #expect(try directory.instance(on: master) === first)
        first = nil
        _ = try directory.instance(on: master)
    }

    @Test func portsThatAnEndingInstanceStillHoldsAreAwaited() throws {
        let ports: (UInt16, UInt16) = (32339, 32340)
        let directory = PTPDirectory(identity: clock, eventPort: ports.0, generalPort: ports.1)
        _ = try directory.instance(on: master)
        let ending = Lock<PTPInstance?>(try start(ports))
        let thread = try WorkerThread.start(name: "ending") {
            HostInstant.now.advanced(by: .milliseconds(20)).sleep()
            withExtendedLifetime(ending.withLock { $0.take() }) {}
        }
        #expect(throws: Never.self) { try directory.instance(on: master) }
        thread.join()
    }

    @Test func theLateEndOfASessionDoesNotEndTheOneThatReplacedIt() throws {
        let instance = try start((32337, 32338))
        defer { instance.stop() }
        let first = try #require(instance.add(speaker))
        let second = try #require(instance.add(speaker))
        instance.remove(speaker, of: first)
        #expect(instance.peer(speaker) != nil)
        instance.remove(speaker, of: second)
        #expect(instance.peer(speaker) == nil)
    }
}
