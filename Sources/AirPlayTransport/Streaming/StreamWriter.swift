internal import AirPlayWire
package import MediaCore

/// Sends the packets of one stream from its store, on a separate thread. Methods are callable from any thread.
package protocol StreamWriter: AnyObject, Sendable {
    var store: PacketStore { get }
    /// Whether the stream has ended.
    var isOver: Bool { get }
    /// The number of bytes passed to the kernel since the start.
    var sentBytes: Int64 { get }
    /// When the speaker last read audio that had to wait; nil if that is unknown.
    var lastRead: HostInstant? { get }
    /// The shortest round trip of the connection; nil without one.
    var shortestRoundTrip: Duration? { get }

    /// The number of bytes that the speaker's kernel has not acknowledged.
    var unacknowledgedBytes: Int { get }
    /// The number of retransmitted packets since the start.
    var resentPackets: Int { get }

    /// Wakes the thread for new packets.
    func wake()
    /// Sends by a timeline from now on. Returns false if the stream has no pacing: a request starts the speaker.
    func play(_ line: RealtimePacing.Anchor) -> Bool
    /// Stops sending, and returns the sequence number and timestamp of the next packet: the speaker has no pause, and
    /// its queue is to be cleared. Nil if the stream has no pacing: a request pauses the speaker.
    func stop() -> (sequence: UInt16, timestamp: RTPTimestamp?)?
    /// Stops sending until the next anchor. Streams without pacing continue, since a receiver without an anchor does
    /// not play.
    func halt()
    /// Stops sending and joins the thread. The store is kept.
    func close()
}

extension StreamWriter {
    /// Zero: packets of the stream are not acknowledged.
    package var unacknowledgedBytes: Int { 0 }
    /// Zero: the connection retransmits.
    package var resentPackets: Int { 0 }
    /// False: the stream has no pacing.
    package func play(_ line: RealtimePacing.Anchor) -> Bool { false }
    /// Nil: the stream has no pacing.
    package func stop() -> (sequence: UInt16, timestamp: RTPTimestamp?)? { nil }
}
