package import MediaCore
internal import Sockets

/// State that only the PTP thread uses: sequence numbers, message buffers, observers.
package struct PTPRound {
    var writer: PTPMessageWriter
    var announceSequence: UInt16 = 0
    var syncSequence: UInt16 = 0
    var signalingSequence: UInt16 = 0
    var questionSequence: UInt16 = 0
    /// The number of periodic sends so far.
    var beat = 0
    /// When the next periodic messages are due.
    var nextBeat: HostInstant
    /// Receives one datagram.
    var buffer = [UInt8](repeating: 0, count: 2048)
    /// Observers of the peers that act as masters, by address; at most one per peer.
    var observers: [NetworkAddress: SessionObserver] = [:]

    package init(identity: ClockIdentity, beginning: HostInstant) {
        writer = PTPMessageWriter(identity: identity)
        nextBeat = beginning
    }
}

/// The observer of one session with a peer.
struct SessionObserver {
    let session: UInt64
    var observer = MasterObserver()
}
