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

    /// Wakes the thread for new packets.
    func wake()
    /// Stops sending until the next anchor. Streams without pacing continue, since a receiver without an anchor does
    /// not play.
    func halt()
    /// Stops sending and joins the thread. The store is kept.
    func close()
}
