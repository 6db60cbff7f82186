internal import MediaCore
package import Sockets

/// What the engine makes of each message.
extension PTPEngine {
    /// Answers a speaker that is served, and listens to one that is followed. Strangers get nothing: whoever is served has
    /// been introduced.
    ///
    /// Event messages go to port 319 and general ones to 320 (IEEE 1588-2008, annex D.2). That they also come from
    /// there is the custom of AirPlay (nqptp drops others), and a weak proof: a program needs
    /// a privilege to bind them.
    package func take(
        _ datagram: DatagramSocket.Datagram, _ bytes: ArraySlice<UInt8>, on channel: PTPChannel,
        _ round: inout PTPRound
    ) {
        // The cheapest question first: this is where a flood ends.
        guard datagram.sourcePort == wire.port(of: channel),
            shared.withLock({ shared in shared.peers.contains { $0.address == datagram.source } }),
            let message = PTPMessage(bytes), message.header.type.isEvent == (channel == .event),
            message.header.source.clock != identity
        else { return }
        let received = PTPTimestamp(served.instant(at: datagram.received))
        let requester = message.header.source
        let sequence = message.header.sequence
        switch message.content {
        case .delayRequest:
            round.writer.delayResponse(received: received, requester: requester, sequence: sequence)
            wire.send(round.writer.bytes, on: .general, to: datagram.source)
            change(datagram.source) { $0.readiness.noteProbe(at: datagram.received) }
        case .peerDelayRequest:
            round.writer.peerDelayResponse(received: received, requester: requester, sequence: sequence)
            let sent = PTPTimestamp(served.instant(at: sendEvent(round.writer.bytes, to: datagram.source)))
            round.writer.peerDelayResponseFollowUp(origin: sent, requester: requester, sequence: sequence)
            wire.send(round.writer.bytes, on: .general, to: datagram.source)
            change(datagram.source) { $0.readiness.noteProbe(at: datagram.received) }
        case .announce(let quality, _):
            change(datagram.source) { peer in
                peer.announcements &+= 1
                peer.announced = quality
            }
            observe(datagram, &round) { $0.noteAnnounce(quality, from: message.header, at: datagram.received) }
        case .sync:
            change(datagram.source) { $0.noteSync(of: message.header.source.clock) }
            observe(datagram, &round) { $0.noteSync(message.header, received: datagram.received) }
        case .followUp(let origin):
            var outcome = MasterObserver.Outcome.void
            observe(datagram, &round) {
                outcome = $0.noteFollowUp(message.header, origin: origin, at: datagram.received)
            }
            switch outcome {
            case .taken: publish(datagram.source, &round)
            case .refused: change(datagram.source) { $0.noteRefusal(at: datagram.received) }
            case .void: break
            }
        case .delayResponse(let received, let requester):
            guard requester.clock == identity else { return }
            observe(datagram, &round) {
                $0.noteAnswer(message.header, received: received, to: requester, at: datagram.received)
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
