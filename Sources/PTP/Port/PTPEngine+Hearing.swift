internal import MediaCore
package import Sockets

/// Dispatch of received messages; runs on the PTP thread.
extension PTPEngine {
    /// Answers a peer that is served, and observes one that acts as a master. Datagrams from unknown addresses are
    /// dropped.
    ///
    /// Event messages are sent to port 319, general ones to 320 (IEEE 1588-2008, annex D.2). AirPlay implementations
    /// mostly send from these ports, too, and nqptp drops other messages; Apple's may send from any (nqptp issue 44).
    /// Binding these ports requires a privilege, which is a weak authentication: once a peer has used them, its
    /// messages from other ports are dropped.
    package func handle(
        _ datagram: DatagramSocket.Datagram, _ bytes: ArraySlice<UInt8>, on channel: PTPChannel,
        _ round: inout PTPRound
    ) {
        // Cheapest checks first, because a flood is dropped here.
        guard shared.withLock({ shared in shared.peers.contains { $0.address == datagram.source } }),
            let message = PTPMessage(bytes), message.header.type.isEvent == (channel == .event),
            message.header.source.clock != identity
        else { return }
        var (isAdmitted, isReleased) = (false, false)
        change(datagram.source) { peer in
            let wasFollowed = peer.isFollowed
            isAdmitted = peer.admits(isFromPTPPort: datagram.sourcePort == wire.port(of: channel))
            isReleased = wasFollowed && !peer.isFollowed
        }
        // A forged clock would lead on.
        if isReleased { served.release(datagram.source) }
        guard isAdmitted else { return }
        let received = PTPTimestamp(served.instant(at: datagram.received))
        let requester = message.header.source
        let sequence = message.header.sequence
        switch message.content {
        case .delayRequest:
            round.writer.delayResponse(received: received, requester: requester, sequence: sequence)
            wire.send(round.writer.bytes, on: .general, to: datagram.source)
            change(datagram.source) { $0.recordDelayRequest(at: datagram.received) }
        case .peerDelayRequest:
            round.writer.peerDelayResponse(received: received, requester: requester, sequence: sequence)
            let sent = PTPTimestamp(served.instant(at: sendEvent(round.writer.bytes, to: datagram.source)))
            round.writer.peerDelayResponseFollowUp(origin: sent, requester: requester, sequence: sequence)
            wire.send(round.writer.bytes, on: .general, to: datagram.source)
            change(datagram.source) { $0.recordDelayRequest(at: datagram.received) }
        case .announce(let quality, _):
            change(datagram.source) { peer in
                peer.announcements &+= 1
                peer.announced = quality
            }
            observe(datagram, &round) { $0.recordAnnounce(quality, from: message.header, at: datagram.received) }
        case .sync:
            change(datagram.source) { $0.recordSync(of: message.header.source.clock) }
            observe(datagram, &round) { $0.recordSync(message.header, received: datagram.received) }
        case .followUp(let origin):
            var outcome = MasterObserver.Outcome.void
            observe(datagram, &round) {
                outcome = $0.recordFollowUp(message.header, origin: origin, at: datagram.received)
            }
            switch outcome {
            case .taken: publish(datagram.source, &round)
            case .refused: change(datagram.source) { $0.recordRefusal(at: datagram.received) }
            case .void: break
            }
        case .delayResponse(let received, let requester):
            guard requester.clock == identity else { return }
            observe(datagram, &round) {
                $0.recordDelayResponse(message.header, received: received, to: requester, at: datagram.received)
            }
        case .signaling(_, let requests):
            guard !requests.isEmpty else { return }
            round.signalingSequence &+= 1
            round.writer.grant(requests, to: requester, sequence: round.signalingSequence)
            wire.send(round.writer.bytes, on: .general, to: datagram.source)
        case .peerDelayResponse, .peerDelayResponseFollowUp: break
        }
    }
}
