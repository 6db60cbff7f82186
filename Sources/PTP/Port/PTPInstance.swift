package import MediaCore
package import Sockets

/// This computer's part in PTP on one of its addresses: the grandmaster that serves time to speakers, and the follower
/// of a speaker that insists on serving it.
///
/// It announces itself, sends Sync and Follow_Up to each speaker eight times a second and answers every question
/// about the time. Being outbid by an Announce does not move it: one receiver sends such messages only to wake a
/// master, and giving way to them would silence the session. A speaker that sends Sync and Follow_Up of its own for a
/// second and asks for nothing is followed: it is sent no more time, asked for the way, and its timeline is what its
/// anchors are written on (`docs/decisions/0006-foreign-master.md`).
///
/// A thread of its own, real-time when permitted, does the work; all methods may be called from any thread and
/// return at once, except `stop`. Releasing the last reference stops it.
package final class PTPInstance: Sendable {
    /// The most speakers served at a time.
    package static let peerLimit = 32

    package let address: IPv4Address
    package let identity: ClockIdentity
    package let engine: PTPEngine
    /// What is served, and by which of this computer's clocks.
    package let served: ServedTimeline
    private let thread: WorkerThread?

    /// Binds the two ports on one local address and begins to serve.
    ///
    /// - Parameters:
    ///   - address: a local address; the one that requests to the speakers leave from, because receivers drop
    ///     time that comes from another.
    ///   - served: the time to serve; this computer's own when none is given.
    ///   - eventPort, generalPort: 319 and 320; tests that may not bind those take others. Messages go to the same
    ///     ports of the speaker.
    package init(
        address: IPv4Address, identity: ClockIdentity, served: ServedTimeline = ServedTimeline(),
        eventPort: UInt16 = 319, generalPort: UInt16 = 320
    ) throws(PTPError) {
        let wire = PTPSocketWire(
            try PTPSockets.open(on: address, eventPort: eventPort, generalPort: generalPort))
        self.address = address
        self.identity = identity
        self.served = served
        do throws(ExhaustionError) {
            let engine = PTPEngine(identity: identity, served: served, wire: wire, news: try PollableSignal())
            self.engine = engine
            thread = try WorkerThread.start(name: "ptp", priority: .realtime(30)) { engine.run() }
        } catch {
            throw PTPError(.unavailable, "Speakers cannot be told the time: \(error.message).")
        }
    }

    /// One without a thread, for whoever turns `engine` by hand.
    package init(
        address: IPv4Address, identity: ClockIdentity, served: ServedTimeline, wire: any PTPWire
    ) throws(ExhaustionError) {
        self.address = address
        self.identity = identity
        self.served = served
        engine = PTPEngine(identity: identity, served: served, wire: wire, news: try PollableSignal())
        thread = nil
    }

    deinit { stop() }

    /// Ends serving and waits for the thread, a few milliseconds.
    package func stop() {
        engine.requestStop()
        thread?.join()
    }

    /// Begins to serve a speaker, at once; a speaker already served starts a new session.
    ///
    /// - Parameter isFollowed: it is known to insist on serving time, and is left to it at once.
    /// - Returns: false when `peerLimit` speakers are served already.
    @discardableResult
    package func add(
        _ peer: IPv4Address, readiness: PeerReadiness = PeerReadiness(), isFollowed: Bool = false
    ) -> Bool {
        let added = engine.shared.withLock { shared in
            shared.sessions += 1
            let new = PTPPeer(
                address: peer, readiness: readiness, isFollowed: isFollowed, session: shared.sessions,
                now: served.clock.now)
            if let index = shared.peers.firstIndex(where: { $0.address == peer }) {
                shared.peers[index] = new
            } else {
                guard shared.peers.count < Self.peerLimit else { return false }
                shared.peers.append(new)
            }
            shared.greeted.removeAll { $0 == peer }
            return true
        }
        served.release(peer)
        if added { engine.wake() }
        return added
    }

    /// Stops serving a speaker.
    package func remove(_ peer: IPv4Address) {
        engine.shared.withLock { shared in
            shared.peers.removeAll { $0.address == peer }
            shared.greeted.removeAll { $0 == peer }
        }
        served.release(peer)
    }

    /// The speaker has answered its stream's SETUP: from now on its silence counts.
    package func noteStreamSetUp(_ peer: IPv4Address) {
        let now = served.clock.now
        engine.change(peer) { $0.readiness.noteStreamSetUp(at: now) }
        // Its clock may only now listen to us: let it hear at once who serves.
        engine.shared.withLock { shared in shared.greeted.removeAll { $0 == peer } }
        engine.wake()
    }

    /// What the speaker shall add to our time, bounded to 50 ms each way; ignored by speakers that ask us
    /// themselves, because those measure the path. While the speaker plays it is approached at 100 ppm.
    package func setPathCorrection(_ correction: Duration, for peer: IPv4Address) {
        let bounded = max(.milliseconds(-50), min(.milliseconds(50), correction))
        engine.change(peer) { $0.pathCorrection = bounded }
    }

    /// From now on the speaker plays by our clock, or no longer does.
    package func setPlaying(_ isPlaying: Bool, for peer: IPv4Address) {
        engine.change(peer) { $0.isPlaying = isPlaying }
    }

    /// What is known about a speaker; nil when it is not served.
    package func peer(_ address: IPv4Address) -> PTPPeer? {
        engine.shared.withLock { shared in shared.peers.first { $0.address == address } }
    }

    /// How far a speaker is with the clock it plays by.
    package func readiness(of peer: IPv4Address) -> ClockReadiness {
        self.peer(peer)?.clock(at: served.clock.now).readiness ?? .cold
    }

    /// The speaker takes no start on our time: from now on it is left to its own, and followed. A speaker that then
    /// sends none is served again.
    ///
    /// - Returns: false when that was tried already.
    @discardableResult
    package func yield(to peer: IPv4Address) -> Bool {
        let now = served.clock.now
        var isNew = false
        engine.change(peer) { isNew = $0.yield(at: now) }
        return isNew
    }

    /// The timeline that a speaker's anchors are written on: our own, or that of the master it insists on.
    ///
    /// Nil while that master is not known yet, or when another one is followed.
    package func timeline(for peer: IPv4Address) -> PTPTimeline? {
        guard let known = self.peer(peer), known.isFollowed else { return served.timeline(named: identity) }
        guard let master = known.master, master.lockedSince != nil else { return nil }
        return served.timeline(ofMaster: master.grandmaster)
    }

    /// Whether a speaker insists on a master while another one is followed.
    package func isTurnedAway(_ peer: IPv4Address) -> Bool {
        guard let known = self.peer(peer), known.isFollowed, let master = known.master else { return false }
        return !served.mayLead(master.grandmaster)
    }
}
