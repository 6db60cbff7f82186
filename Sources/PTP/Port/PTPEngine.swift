internal import MediaCore
internal import Sockets
internal import Synchronization

/// The protocol engine of a PTP instance: periodic messages, and answers to received ones.
///
/// Runs on one thread, which does not allocate in steady state and blocks only in `PTPWire.wait`. `shared` is a lock
/// held only to copy small values. Without a thread, a test drives it with `beat`, and with `handle` for each message.
package final class PTPEngine: Sendable {
    /// State shared with the callers of `PTPInstance`; guarded by `shared`.
    struct Shared {
        var peers: [PTPPeer] = []
        /// Peers that were sent their first messages.
        var greeted: [NetworkAddress] = []
        /// The number of sessions so far.
        var sessions: UInt64 = 0
    }

    /// Interval between two Syncs to one peer.
    static let syncInterval: Duration = .milliseconds(125)
    /// Maximum number of datagrams read from one socket per iteration. They take less than a millisecond; 32 receivers
    /// send half as many between two Syncs.
    static let share = 64
    /// One Announce and one Signaling are sent per eight Syncs.
    static let syncsPerAnnounce = 8

    let shared = Lock(Shared())
    let wire: any PTPWire
    let identity: ClockIdentity
    let served: ServedTimeline
    /// The host clock; all timestamps are read from it.
    var clock: any HostClock { served.clock }
    /// Wakes the thread.
    private let wakeSignal: PollableSignal
    private let stopping = Atomic<Bool>(false)

    /// - Parameter wakeSignal: wakes the thread from `PTPWire.wait`.
    init(identity: ClockIdentity, served: ServedTimeline, wire: any PTPWire, wakeSignal: PollableSignal) {
        self.wakeSignal = wakeSignal
        self.identity = identity
        self.served = served
        self.wire = wire
    }

    /// Wakes the thread. Callable from any thread, as is `requestStop`.
    func wake() { wakeSignal.raise() }

    func requestStop() {
        stopping.store(true, ordering: .releasing)
        wake()
    }

    /// Mutates a peer under the lock; does nothing if the address is not served.
    func change(_ address: NetworkAddress, _ body: (inout PTPPeer) -> Void) {
        shared.withLock { shared in
            if let index = shared.peers.firstIndex(where: { $0.address == address }) { body(&shared.peers[index]) }
        }
    }

    /// The body of the thread; returns after `requestStop`.
    func run() {
        var round = PTPRound(identity: identity, beginning: clock.now)
        while !isStopping {
            beat(&round)
            wire.wait(until: round.nextBeat, or: wakeSignal.descriptor, by: clock)
            wakeSignal.clear()
            receiveDatagrams(&round)
        }
    }

    private var isStopping: Bool { stopping.load(ordering: .acquiring) }

    /// Sends the first messages to new peers, and the periodic messages to all peers if they are due.
    package func beat(_ round: inout PTPRound) {
        greetNewcomers(&round)
        guard clock.now >= round.nextBeat else { return }
        serve(&round)
        round.nextBeat = round.nextBeat.advanced(by: Self.syncInterval)
        // After a stall the schedule restarts; a burst of late Syncs has no use.
        if clock.now >= round.nextBeat { round.nextBeat = clock.now.advanced(by: Self.syncInterval) }
    }

    /// Processes up to `share` datagrams per socket; the rest is read in the next iteration.
    func receiveDatagrams(_ round: inout PTPRound) {
        receiveDatagrams(.event, &round)
        receiveDatagrams(.general, &round)
    }

    private func receiveDatagrams(_ channel: PTPChannel, _ round: inout PTPRound) {
        for _ in 0..<Self.share {
            guard !isStopping, let datagram = wire.receive(on: channel, into: &round.buffer, by: clock) else { return }
            handle(datagram, round.buffer[..<datagram.count], on: channel, &round)
        }
    }

    /// Sends Announce and Sync to peers that were added since the last iteration.
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

    /// Sends the periodic messages: Delay_Req to a followed peer, Sync and possibly Announce to the others.
    private func serve(_ round: inout PTPRound) {
        let count = shared.withLock { $0.peers.count }
        let announcing = round.beat % Self.syncsPerAnnounce == 0
        round.beat &+= 1
        // One peer at a time: a copy of the array would trigger copy-on-write on the next mutation.
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

    /// Returns true in the first second after the stream's SETUP. The receiver starts to listen within it and locks
    /// from the first Announce on; a lost one would cost a second.
    private static func isNew(_ peer: PTPPeer, at now: HostInstant) -> Bool {
        guard let begun = peer.readiness.streamSetUp else { return false }
        return now - begun < .seconds(1)
    }

    /// Upper bound of a send (measured: 17 to 32 µs). A longer one means that the thread was preempted.
    private static let longestSend: Duration = .microseconds(50)

    /// Sends an event message and returns its departure.
    ///
    /// If the thread was preempted, the returned instant is too early rather than too late. The peer then sees a longer
    /// path delay, which its filter discounts. Minimum-delay filters trust a message that seems too fast most.
    func sendEvent(_ bytes: [UInt8], to peer: NetworkAddress) -> HostInstant {
        let before = clock.now
        wire.send(bytes, on: .event, to: peer)
        return min(clock.now, before.advanced(by: Self.longestSend))
    }

    /// Sends an Announce and Apple's Signaling.
    private func announce(to peer: NetworkAddress, _ round: inout PTPRound) {
        round.announceSequence &+= 1
        round.writer.announce(.sender(identity), sequence: round.announceSequence)
        wire.send(round.writer.bytes, on: .general, to: peer)
        round.signalingSequence &+= 1
        round.writer.signaling(sequence: round.signalingSequence)
        wire.send(round.writer.bytes, on: .general, to: peer)
    }

    /// Sends a Sync and its Follow_Up.
    private func sync(to peer: NetworkAddress, _ round: inout PTPRound) {
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
