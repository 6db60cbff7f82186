internal import MediaCore
internal import Sockets
internal import Synchronization

/// The work of a PTP instance, on one thread: its beat, and what it hears.
///
/// The thread neither allocates nor waits for anything but its wire and its timer once it runs; the lock it
/// shares with callers guards copies of small values only. Without a thread a test turns it by hand: `beat`, and `take`
/// for each message.
package final class PTPEngine: Sendable {
    struct Shared {
        var peers: [PTPPeer] = []
        /// Those that have had their first messages.
        var greeted: [IPv4Address] = []
        /// Sessions so far.
        var sessions: UInt64 = 0
    }

    static let syncInterval: Duration = .milliseconds(125)
    /// The most datagrams read from one socket before the beat and the end are looked at again: a round takes less than
    /// a millisecond, and 32 speakers send half as many between two beats.
    static let share = 64
    /// One Announce and one Signaling for eight Syncs.
    static let syncsPerAnnounce = 8

    let shared = Lock(Shared())
    let wire: any PTPWire
    let identity: ClockIdentity
    let served: ServedTimeline
    /// Everything here is told and measured by it.
    var clock: any HostClock { served.clock }
    private let news: PollableSignal
    private let stopping = Atomic<Bool>(false)

    /// - Parameter news: wakes the thread.
    init(identity: ClockIdentity, served: ServedTimeline, wire: any PTPWire, news: PollableSignal) {
        self.news = news
        self.identity = identity
        self.served = served
        self.wire = wire
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
        var round = PTPRound(identity: identity, beginning: clock.now)
        while !isStopping {
            beat(&round)
            wire.wait(until: round.nextBeat, or: news.descriptor, by: clock)
            news.clear()
            hear(&round)
        }
    }

    private var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Greets those who are new, and serves everybody when that is due.
    package func beat(_ round: inout PTPRound) {
        greetNewcomers(&round)
        guard clock.now >= round.nextBeat else { return }
        serve(&round)
        round.nextBeat = round.nextBeat.advanced(by: Self.syncInterval)
        // After a stall the beat starts anew; a burst of old beats would help nobody.
        if clock.now >= round.nextBeat { round.nextBeat = clock.now.advanced(by: Self.syncInterval) }
    }

    /// Takes what has come, as far as a share goes; the rest is there the next time.
    package func hear(_ round: inout PTPRound) {
        hear(.event, &round)
        hear(.general, &round)
    }

    private func hear(_ channel: PTPChannel, _ round: inout PTPRound) {
        for _ in 0..<Self.share {
            guard !isStopping, let datagram = wire.receive(on: channel, into: &round.buffer, by: clock) else { return }
            take(datagram, round.buffer[..<datagram.count], on: channel, &round)
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
        wire.send(bytes, on: .event, to: peer)
        return min(clock.now, before.advanced(by: Self.longestSend))
    }

    private func announce(to peer: IPv4Address, _ round: inout PTPRound) {
        round.announceSequence &+= 1
        round.writer.announce(.sender(identity), sequence: round.announceSequence)
        wire.send(round.writer.bytes, on: .general, to: peer)
        round.signalingSequence &+= 1
        round.writer.signaling(sequence: round.signalingSequence)
        wire.send(round.writer.bytes, on: .general, to: peer)
    }

    private func sync(to peer: IPv4Address, _ round: inout PTPRound) {
        round.syncSequence &+= 1
        round.writer.sync(sequence: round.syncSequence)
        let sent = served.instant(at: sendEvent(round.writer.bytes, to: peer))
        var correction: Duration = .zero
        change(peer) { correction = $0.nextCorrection() }
        round.writer.followUp(
            origin: PTPTimestamp(sent), sequence: round.syncSequence, correction: correction.wholeNanoseconds << 16)
        wire.send(round.writer.bytes, on: .general, to: peer)
    }
}
