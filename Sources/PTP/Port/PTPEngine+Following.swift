internal import MediaCore
internal import Sockets

/// The slave side of the engine; runs on the PTP thread.
extension PTPEngine {
    /// Sends a Delay_Req to a followed peer, to measure the path delay.
    func ask(_ peer: NetworkAddress, _ round: inout PTPRound) {
        round.questionSequence &+= 1
        round.writer.request(.delayRequest, sequence: round.questionSequence)
        let sent = sendEvent(round.writer.bytes, to: peer)
        round.observers[peer]?.observer.recordDelayRequest(round.questionSequence, sent: sent, by: identity)
    }

    /// Passes a message to its sender's observer, which the first message of a session creates.
    func observe(
        _ datagram: DatagramSocket.Datagram, _ round: inout PTPRound, _ body: (inout MasterObserver) -> Void
    ) {
        let source = datagram.source
        let session = shared.withLock { shared in shared.peers.first { $0.address == source }?.session }
        guard let session else { return }
        if round.observers[source]?.session != session {
            forgetOthers(&round)
            round.observers[source] = SessionObserver(session: session)
        }
        // Mutated in place: a copy would trigger copy-on-write and allocate.
        body(&round.observers[source]!.observer)
    }

    /// Removes the observers of peers that are no longer served, which bounds their number.
    private func forgetOthers(_ round: inout PTPRound) {
        let known = shared.withLock { $0.peers.map(\.address) }
        for address in round.observers.keys where !known.contains(address) { round.observers[address] = nil }
    }

    /// Stores a new measurement of a remote master in `PTPPeer.master`. If the peer is followed, adjusts the served
    /// time.
    func publish(_ address: NetworkAddress, _ round: inout PTPRound) {
        let now = clock.now
        let peer = shared.withLock { shared in shared.peers.first { $0.address == address } }
        guard let peer, let observer = round.observers[address]?.observer, let grandmaster = observer.grandmaster,
            let lastTime = observer.lastTime
        else { return }
        let mapping = observer.mapping(at: now, fallbackPath: peer.pathCorrection)
        var isTurnedAway = false
        if peer.isFollowed, let mapping {
            isTurnedAway = !served.adjust(grandmaster, of: address, at: mapping, isPlaying: peer.isPlaying)
        }
        let master = PTPPeer.Master(
            grandmaster: grandmaster, lastTime: lastTime, lockedSince: observer.lockedSince, mapping: mapping,
            path: observer.measuredPath, isTurnedAway: isTurnedAway)
        var isKnown = false
        change(address) { known in
            isKnown = known.session == peer.session
            if isKnown { known.master = master }
        }
        // The peer was removed concurrently; its master must not lead.
        if !isKnown { served.release(address) }
    }
}
