internal import CSockets
internal import Glibc
internal import MediaCore
internal import Sockets
internal import Synchronization

/// The work of a PTP instance: two sockets, one thread.
///
/// The thread neither allocates nor waits for anything but its sockets and its timer once it runs; the lock it
/// shares with callers guards copies of small values only.
final class PTPEngine: Sendable {
    struct Shared {
        var peers: [PTPPeer] = []
        /// Those that have had their first messages.
        var greeted: [IPv4Address] = []
        /// Sessions so far.
        var sessions: UInt64 = 0
    }

    static let syncInterval: Duration = .milliseconds(125)
    /// One Announce and one Signaling for eight Syncs.
    static let syncsPerAnnounce = 8

    let shared = Lock(Shared())
    private let event: DatagramSocket
    private let general: DatagramSocket
    private let eventPort: UInt16
    private let generalPort: UInt16
    let identity: ClockIdentity
    let served: ServedTimeline
    /// Everything here is told and measured by it.
    var clock: any HostClock { served.clock }
    private let news = PollableSignal()
    private let stopping = Atomic<Bool>(false)

    init(
        address: IPv4Address, identity: ClockIdentity, served: ServedTimeline, eventPort: UInt16, generalPort: UInt16
    ) throws(PTPError) {
        event = try PTPPorts.open(address, eventPort)
        general = try PTPPorts.open(address, generalPort)
        self.eventPort = eventPort
        self.generalPort = generalPort
        self.identity = identity
        self.served = served
    }

    func wake() { news.raise() }

    func requestStop() {
        stopping.store(true, ordering: .releasing)
        wake()
    }

    func change(_ address: IPv4Address, _ body: (inout PTPPeer) -> Void) {
        shared.withLock { shared in
            if let index = shared.peers.firstIndex(where: { $0.address == address }) { body(&shared.peers[index]) }
        }
    }

    func run() {
        var round = PTPRound(identity: identity)
        var buffer = [UInt8](repeating: 0, count: 2048)
        var nextSync = clock.now
        while !stopping.load(ordering: .acquiring) {
            greetNewcomers(&round)
            if clock.now >= nextSync {
                serve(&round)
                nextSync = nextSync.advanced(by: Self.syncInterval)
                // After a stall the beat starts anew; a burst of old beats would help nobody.
                if clock.now >= nextSync { nextSync = clock.now.advanced(by: Self.syncInterval) }
            }
            wait(until: nextSync)
            while let datagram = event.receive(into: &buffer, by: clock) { handle(datagram, buffer, &round) }
            while let datagram = general.receive(into: &buffer, by: clock) { handle(datagram, buffer, &round) }
        }
    }

    private func wait(until deadline: HostInstant) {
        var descriptors = (
            pollfd(fd: news.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: event.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: general.descriptor, events: Int16(POLLIN), revents: 0)
        )
        let rest = max(0, (deadline - clock.now).wholeNanoseconds)
        withUnsafeMutablePointer(to: &descriptors) {
            $0.withMemoryRebound(to: pollfd.self, capacity: 3) { _ = csock_poll($0, 3, rest) }
        }
        if descriptors.0.revents != 0 {
            news.clear()
        }
    }

    private func greetNewcomers(_ round: inout PTPRound) {
        let newcomers = shared.withLock { shared in
            let fresh = shared.peers.filter { !shared.greeted.contains($0.address) }
            shared.greeted.append(contentsOf: fresh.map(\.address))
            return fresh
        }
        for peer in newcomers where !peer.isFollowed {
            announce(to: peer.address, &round)
            sync(to: peer.address, &round)
        }
    }

    private func serve(_ round: inout PTPRound) {
        let count = shared.withLock { $0.peers.count }
        let announcing = round.beat % Self.syncsPerAnnounce == 0
        round.beat &+= 1
        // One at a time: a copy of the list would be copied again by the next change.
        for index in 0..<count {
            let now = clock.now
            let peer = shared.withLock { shared -> PTPPeer? in
                guard index < shared.peers.count else { return nil }
                shared.peers[index].reconsiderRole(at: now)
                return shared.peers[index]
            }
            guard let peer else { return }
            if peer.isFollowed {
                ask(peer.address, &round)
                continue
            }
            if announcing || Self.isNew(peer, at: now) { announce(to: peer.address, &round) }
            sync(to: peer.address, &round)
        }
    }

    /// In the first second of a stream the speaker begins to listen to us, nobody knows when exactly, and knows our
    /// time from the first Announce on: one that is lost would cost a second.
    private static func isNew(_ peer: PTPPeer, at now: HostInstant) -> Bool {
        guard let begun = peer.readiness.streamSetUp else { return false }
        return now - begun < .seconds(1)
    }

    /// Sending takes no longer; more is an interruption of this thread (measured: 17 to 32 µs).
    private static let longestSend: Duration = .microseconds(50)

    /// Sends an event message and says when it left.
    ///
    /// Where the thread was interrupted meanwhile, the moment said is too early rather than too late. To the one that
    /// receives it the message then seems to have been on its way for longer, and such messages are believed less; one
    /// that seems to have come too soon is what filters of quickest messages believe most.
    func sendEvent(_ bytes: [UInt8], to peer: IPv4Address) -> HostInstant {
        let before = clock.now
        event.send(bytes, to: peer, port: eventPort)
        return min(clock.now, before.advanced(by: Self.longestSend))
    }

    private func announce(to peer: IPv4Address, _ round: inout PTPRound) {
        round.announceSequence &+= 1
        round.writer.announce(.sender(identity), sequence: round.announceSequence)
        general.send(round.writer.bytes, to: peer, port: generalPort)
        round.signalingSequence &+= 1
        round.writer.signaling(sequence: round.signalingSequence)
        general.send(round.writer.bytes, to: peer, port: generalPort)
    }

    private func sync(to peer: IPv4Address, _ round: inout PTPRound) {
        round.syncSequence &+= 1
        round.writer.sync(sequence: round.syncSequence)
        let sent = served.instant(at: sendEvent(round.writer.bytes, to: peer))
        var correction: Duration = .zero
        change(peer) { correction = $0.nextCorrection() }
        round.writer.followUp(
            origin: PTPTimestamp(sent), sequence: round.syncSequence, correction: correction.wholeNanoseconds << 16)
        general.send(round.writer.bytes, to: peer, port: generalPort)
    }

    /// Answers a speaker that is served. Strangers get nothing: whoever is served has been introduced.
    private func handle(_ datagram: DatagramSocket.Datagram, _ buffer: [UInt8], _ round: inout PTPRound) {
        guard let message = PTPMessage(buffer[..<datagram.count]), message.header.source.clock != identity,
            shared.withLock({ shared in shared.peers.contains { $0.address == datagram.source } })
        else { return }
        let received = PTPTimestamp(served.instant(at: datagram.received))
        let requester = message.header.source
        let sequence = message.header.sequence
        switch message.content {
        case .delayRequest:
            round.writer.delayResponse(received: received, requester: requester, sequence: sequence)
            general.send(round.writer.bytes, to: datagram.source, port: generalPort)
            change(datagram.source) { $0.readiness.noteProbe(at: datagram.received) }
        case .peerDelayRequest:
            round.writer.peerDelayResponse(received: received, requester: requester, sequence: sequence)
            let sent = PTPTimestamp(served.instant(at: sendEvent(round.writer.bytes, to: datagram.source)))
            round.writer.peerDelayResponseFollowUp(origin: sent, requester: requester, sequence: sequence)
            general.send(round.writer.bytes, to: datagram.source, port: generalPort)
            change(datagram.source) { $0.readiness.noteProbe(at: datagram.received) }
        case .announce(let quality, _):
            change(datagram.source) { peer in
                peer.announcements &+= 1
                peer.announced = quality
            }
            observe(datagram, &round) { $0.noteAnnounce(quality, from: message.header, at: datagram.received) }
        case .sync:
            change(datagram.source) { $0.syncs &+= 1 }
            observe(datagram, &round) { $0.noteSync(message.header, received: datagram.received) }
        case .followUp(let origin):
            var isNew = false
            observe(datagram, &round) {
                isNew = $0.noteFollowUp(message.header, origin: origin, at: datagram.received)
            }
            if isNew { publish(datagram.source, &round) }
        case .delayResponse(let received, let requester):
            guard requester.clock == identity else { return }
            observe(datagram, &round) {
                $0.noteAnswer(message.header, received: received, to: requester, at: datagram.received)
            }
        case .signaling(_, let requests):
            guard !requests.isEmpty else { return }
            round.signalingSequence &+= 1
            round.writer.grant(requests, to: requester, sequence: round.signalingSequence)
            general.send(round.writer.bytes, to: datagram.source, port: generalPort)
        case .peerDelayResponse, .peerDelayResponseFollowUp: break
        }
    }
}

/// What the thread alone owns: the sequence numbers and the message under construction.
struct PTPRound {
    var writer: PTPMessageWriter
    var announceSequence: UInt16 = 0
    var syncSequence: UInt16 = 0
    var signalingSequence: UInt16 = 0
    var questionSequence: UInt16 = 0
    var beat = 0
    /// Those that speak as masters, by address; no more than there are speakers.
    var observers: [IPv4Address: SessionObserver] = [:]

    init(identity: ClockIdentity) { writer = PTPMessageWriter(identity: identity) }
}

/// What is heard from a master in one session with it.
struct SessionObserver {
    let session: UInt64
    var observer = MasterObserver()
}
