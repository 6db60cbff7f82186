internal import AirPlayWire
internal import MediaCore

/// Sends the packets of one stream from its store, on a thread of its own.
protocol StreamWriter: AnyObject, Sendable {
    var store: PacketStore { get }
    /// True once nothing can be sent any more.
    var isOver: Bool { get }
    /// Bytes handed to the kernel since the start.
    var sentBytes: Int64 { get }
    /// When the speaker last read sound that had to wait for it; nil where nothing tells.
    var lastRead: HostInstant? { get }
    /// The shortest way there and back that its connection has seen; nil where it has none.
    var shortestRoundTrip: Duration? { get }

    /// Tells the thread that there is something to send, from any thread.
    func wake()
    /// Nothing more leaves until the next line is given; for streams that are not paced, no more than that no
    /// packet is lost.
    func halt()
    /// Ends sending and waits for the thread. The store keeps what it has.
    func close()
}
