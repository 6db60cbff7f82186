package import MediaCore
package import Sockets

/// The PTP endpoint on one local address: a grandmaster for receivers, and a slave of a receiver that insists on being
/// grandmaster.
///
/// It sends Announce, and eight Sync and Follow_Up per second to each receiver, and answers delay requests. A better
/// Announce does not make it yield: one receiver sends Announce only to wake a master, and yielding would stop its
/// session. A receiver that sends Sync and Follow_Up for a second, and no delay requests, is followed. It gets no more
/// Syncs, its path delay is measured, and its anchors refer to its timeline (`docs/decisions/0006-foreign-master.md`).
///
/// A dedicated thread, real-time if permitted, does the work. All methods may be called from any thread and do not
/// block, except `stop`. Releasing the last reference stops the thread.
package final class PTPInstance: Sendable {
    /// Maximum number of receivers served at a time.
    static let peerLimit = 32

    /// The local address that the ports are bound to.
    let address: NetworkAddress
    package let identity: ClockIdentity
    package let engine: PTPEngine
    /// The time served, and the host clock that it derives from.
    package let served: ServedTimeline
    private let thread: WorkerThread?

    /// Binds the two ports on one local address and starts the thread.
    ///
    /// - Parameters:
    ///   - address: the local address from which RTSP requests leave; receivers drop PTP messages from another address.
    ///   - served: the time to serve; by default the host clock.
    ///   - eventPort, generalPort: 319 and 320; tests without the privilege use others. Messages are sent to the same
    ///     ports of the receiver.
    /// - Throws: `PTPError` if a port, the signal or the thread is unavailable; nothing stays bound.
    init(
        address: NetworkAddress, identity: ClockIdentity, served: ServedTimeline = ServedTimeline(),
        eventPort: UInt16 = 319, generalPort: UInt16 = 320
    ) throws(PTPError) {
        let wire = PTPSocketWire(
            try PTPSockets.open(on: address, eventPort: eventPort, generalPort: generalPort))
        self.address = address
        self.identity = identity
        self.served = served
        do throws(ExhaustionError) {
            let engine = PTPEngine(identity: identity, served: served, wire: wire, wakeSignal: try PollableSignal())
            self.engine = engine
            thread = try WorkerThread.start(name: "ptp", priority: .realtime(30)) { engine.run() }
        } catch {
            throw PTPError(.unavailable, "Cannot serve time to speakers: \(error.message).")
        }
    }

    /// Creates an instance without a thread; the caller drives `engine`.
    package init(
        address: NetworkAddress, identity: ClockIdentity, served: ServedTimeline, wire: any PTPWire
    ) throws(ExhaustionError) {
        self.address = address
        self.identity = identity
        self.served = served
        engine = PTPEngine(identity: identity, served: served, wire: wire, wakeSignal: try PollableSignal())
        thread = nil
    }

    deinit { stop() }

    /// Stops the thread and waits for it, a few milliseconds.
    package func stop() {
        engine.requestStop()
        thread?.join()
    }

    /// Starts to serve a receiver immediately. A receiver that is already served starts a new session.
    ///
    /// - Parameter isFollowed: true if the receiver is known to insist on its own clock; it is followed from the start.
    /// - Returns: The number of the session; nil if `peerLimit` receivers are already served.
    @discardableResult
    package func add(
        _ peer: NetworkAddress, readiness: PeerReadiness = PeerReadiness(), isFollowed: Bool = false
    ) -> UInt64? {
        let session: UInt64? = engine.shared.withLock { shared in
            shared.sessions += 1
            let new = PTPPeer(
                address: peer, readiness: readiness, isFollowed: isFollowed, session: shared.sessions,
                now: served.clock.now)
            if let index = shared.peers.firstIndex(where: { $0.address == peer }) {
                shared.peers[index] = new
            } else {
                guard shared.peers.count < Self.peerLimit else { return nil }
                shared.peers.append(new)
            }
            shared.greeted.removeAll { $0 == peer }
            return new.session
        }
        served.release(peer)
        if session != nil { engine.wake() }
        return session
    }

    /// Stops serving and following a receiver.
    ///
    /// - Parameter session: The number that `add` returned: no effect if a later session has replaced it. Nil: any.
    package func remove(_ peer: NetworkAddress, of session: UInt64? = nil) {
        let isRemoved = engine.shared.withLock { shared in
            guard let index = shared.peers.firstIndex(where: { $0.address == peer }),
                session == nil || shared.peers[index].session == session
            else { return false }
            shared.peers.remove(at: index)
            shared.greeted.removeAll { $0 == peer }
            return true
        }
        if isRemoved { served.release(peer) }
    }

    /// Records that the receiver has answered the stream's SETUP. From then on, missing delay requests are meaningful.
    package func recordStreamSetUp(_ peer: NetworkAddress) {
        let now = served.clock.now
        engine.change(peer) { $0.readiness.recordStreamSetUp(at: now) }
        // The receiver may start to listen only now; it gets Announce and Sync immediately.
        engine.shared.withLock { shared in shared.greeted.removeAll { $0 == peer } }
        engine.wake()
    }

    /// Sets the value for the receiver to add to the served time, clamped to 50 ms in either direction. Not used for
    /// receivers that send delay requests, because those measure the path. During playback it changes by at most
    /// 100 ppm.
    package func setPathCorrection(_ correction: Duration, for peer: NetworkAddress) {
        let bounded = max(.milliseconds(-50), min(.milliseconds(50), correction))
        engine.change(peer) { $0.pathCorrection = bounded }
    }

    /// Sets whether audio is scheduled on the receiver's clock; meanwhile that clock must not be stepped.
    package func setPlaying(_ isPlaying: Bool, for peer: NetworkAddress) {
        engine.change(peer) { $0.isPlaying = isPlaying }
    }

    /// Returns a copy of the receiver's state; nil if it is not served.
    package func peer(_ address: NetworkAddress) -> PTPPeer? {
        engine.shared.withLock { shared in shared.peers.first { $0.address == address } }
    }

    /// Returns how far the receiver's clock synchronization has progressed.
    func readiness(of peer: NetworkAddress) -> ClockReadiness {
        self.peer(peer)?.clock(at: served.clock.now).readiness ?? .cold
    }

    /// Leaves the receiver to its own clock and follows it, because it rejected starts on the served time. If it then
    /// sends no time, it is served again.
    ///
    /// - Returns: false if this was already tried.
    @discardableResult
    package func yield(to peer: NetworkAddress) -> Bool {
        let now = served.clock.now
        var isNew = false
        engine.change(peer) { isNew = $0.yield(at: now) }
        return isNew
    }

    /// Returns the timeline of a receiver's anchors: the served time, or that of the master it insists on. Nil if that
    /// master is not yet known, or another one is followed.
    package func timeline(for peer: NetworkAddress) -> PTPTimeline? {
        guard let known = self.peer(peer), known.isFollowed else { return served.timeline(named: identity) }
        guard let master = known.master, master.lockedSince != nil else { return nil }
        return served.timeline(ofMaster: master.grandmaster)
    }

    /// Returns true if a receiver insists on a master while another one is followed.
    package func isTurnedAway(_ peer: NetworkAddress) -> Bool {
        guard let known = self.peer(peer), known.isFollowed, let master = known.master else { return false }
        return !served.mayLead(master.grandmaster)
    }
}
