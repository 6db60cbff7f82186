internal import MediaCore
internal import Sockets

/// The follower's half of the thread's work.
extension PTPEngine {
    /// Asks a speaker that is followed how long the way to it is.
    func ask(_ peer: IPv4Address, _ round: inout PTPRound) {
        round.questionSequence &+= 1
        round.writer.request(.delayRequest, sequence: round.questionSequence)
        let sent = sendEvent(round.writer.bytes, to: peer)
        round.observers[peer]?.observer.noteQuestion(round.questionSequence, sent: sent, by: identity)
    }

    /// Hands what a speaker said as a master to whoever listens to it; the first word makes a listener.
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
        // In place: a copy would be copied again by the change.
        body(&round.observers[source]!.observer)
    }

    /// Only speakers of the present are listened to, so that the listeners stay as few as they are.
    private func forgetOthers(_ round: inout PTPRound) {
        let known = shared.withLock { $0.peers.map(\.address) }
        for address in round.observers.keys where !known.contains(address) { round.observers[address] = nil }
    }

    /// A new time of a master's was measured: tells it to everybody, and follows it when its speaker insists.
    func publish(_ address: IPv4Address, _ round: inout PTPRound) {
        let now = clock.now
        let peer = shared.withLock { shared in shared.peers.first { $0.address == address } }
        guard let peer, let observer = round.observers[address]?.observer, let grandmaster = observer.grandmaster,
            let lastTime = observer.lastTime
        else { return }
        let mapping = observer.mapping(at: now, fallbackPath: peer.pathCorrection)
        var isTurnedAway = false
        if peer.isFollowed, let mapping {
            isTurnedAway = !served.follow(grandmaster, of: address, at: mapping, isPlaying: peer.isPlaying)
        }
        let master = PTPPeer.Master(
            grandmaster: grandmaster, lastTime: lastTime, lockedSince: observer.lockedSince, mapping: mapping,
            path: observer.measuredPath, isTurnedAway: isTurnedAway)
        var isKnown = false
        change(address) { known in
            isKnown = known.session == peer.session
            if isKnown { known.master = master }
        }
        // It was let go meanwhile: nobody may be led by it.
        if !isKnown { served.release(address) }
    }
}
