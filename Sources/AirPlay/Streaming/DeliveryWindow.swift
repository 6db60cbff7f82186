internal import MediaCore

/// Limits the bytes in flight of a buffered stream, so that PTP messages are not delayed behind audio.
///
/// On a slow link unsent data forms a queue that also delays the clock's messages. A receiver that does not measure the
/// path delay interprets that as a late clock. On a link of 600 kbit/s, filled as fast as the kernel allows, audio was
/// 0.15 s late for most of a minute.
///
/// On a slow link only as much is sent as arrives within `timeout`. A link with mere jitter, such as a power-saving
/// radio, is recognized by its throughput. It is still filled many times faster than real time.
struct DeliveryWindow {
    /// Maximum queueing delay; audio is late by about half of it while a buffer fills.
    static let timeout: Duration = .milliseconds(15)
    /// A packet is sent after this wait in any case, because only a send detects a closed connection.
    static let longestWait: Duration = .milliseconds(500)
    /// The initial window in bytes; `widest` is the maximum.
    private static let first = 4 << 10
    private static let widest = 256 << 10
    /// In multiples of real time: the minimum rate on any link.
    private static let minPace = 2.0
    /// In multiples of real time: a link with this throughput is not slow, since the buffer fills quickly.
    private static let enough = 6.0

    /// The maximum number of bytes in flight.
    private(set) var bytes = Self.first
    /// The end of a measured packet, in bytes since the start of the connection, and when it was sent.
    private var probe: (end: Int64, sent: HostInstant)?
    private var wasFull = false
    /// Whether the window grows by packets instead of doubling.
    private var hasFoundTheEnd = false
    private var usualTrip: Duration?

    /// Returns true if a packet may be sent now.
    ///
    /// - Parameters:
    ///   - count: The bytes of the packet.
    ///   - duration: The duration of its audio.
    ///   - sent: Bytes passed to the kernel since the start of the connection.
    ///   - underWay: Bytes of those that are not acknowledged.
    ///   - shortest: The shortest round trip of the connection.
    mutating func admits(
        _ count: Int, lasting duration: Duration, sent: Int64, underWay: Int, shortest: Duration, at now: HostInstant
    ) -> Bool {
        if let probe, sent - Int64(underWay) >= probe.end {
            adapt(
                from: now - probe.sent, shortest, pace: Double(count) / max(duration / .seconds(1), 0.001),
                packet: count)
            self.probe = nil
        }
        guard underWay == 0 || underWay + count <= bytes else {
            wasFull = true
            return false
        }
        if probe == nil { probe = (sent + Int64(count), now) }
        return true
    }

    /// Adapts the window, once per measured packet: its round trip shows the length of the queue.
    private mutating func adapt(from trip: Duration, _ shortest: Duration, pace: Double, packet: Int) {
        usualTrip = usualTrip.map { ($0 * 7 + trip) / 8 } ?? trip
        let passes = Double(bytes) / (trip / .seconds(1))
        if trip - shortest > Self.timeout {
            if passes < Self.enough * pace {
                bytes /= 2
                hasFoundTheEnd = true
            }
        } else if wasFull {
            bytes += hasFoundTheEnd ? packet : bytes
        }
        wasFull = false
        let minBytes = Int(Self.minPace * pace * (max(trip, usualTrip ?? trip) / .seconds(1)))
        bytes = min(max(bytes, minBytes, 2 * packet), Self.widest)
    }
}
