package import MediaCore
internal import Sockets

/// What the thread alone owns: the sequence numbers and the message under construction.
package struct PTPRound {
    var writer: PTPMessageWriter
    var announceSequence: UInt16 = 0
    var syncSequence: UInt16 = 0
    var signalingSequence: UInt16 = 0
    var questionSequence: UInt16 = 0
    var beat = 0
    var nextBeat: HostInstant
    var buffer = [UInt8](repeating: 0, count: 2048)
    /// Those that speak as masters, by address; no more than there are speakers.
    var observers: [IPv4Address: SessionObserver] = [:]

    package init(identity: ClockIdentity, beginning: HostInstant) {
        writer = PTPMessageWriter(identity: identity)
        nextBeat = beginning
    }
}

/// What is heard from a master in one session with it.
struct SessionObserver {
    let session: UInt64
    var observer = MasterObserver()
}
