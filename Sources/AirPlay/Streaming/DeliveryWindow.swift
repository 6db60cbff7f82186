internal import MediaCore

/// How much of a stream may be under way at once, so that a speaker's clock is not kept waiting behind its sound.
///
/// What a slow link cannot pass stands in a queue, and the clock's messages behind it. A receiver that does not measure the
/// way takes them for a clock that is late: on a link of 600 kbit/s, filled as fast as the kernel would, sound was 0.15 s
/// late for most of a minute. So on a slow link no more is sent than comes through within `patience`. A way that is merely
/// uneven (jitter, a radio that sleeps) is told from it by what passes, and is still filled many times faster than the film.
struct DeliveryWindow {
    /// How long what is sent may stand in a queue: the sound of a film is late by about half of it while a buffer fills.
    static let patience: Duration = .milliseconds(15)
    /// A packet that has waited so long goes anyway, because only a send finds out that a connection has ended.
    static let longestWait: Duration = .milliseconds(500)
    private static let first = 4 << 10
    private static let widest = 256 << 10
    /// Times the film's own pace: never less, whatever the way is like …
    private static let leastPace = 2.0
    /// … and what passes so much is no slow link: the buffer is full soon.
    private static let enough = 6.0

    /// Bytes that may be under way.
    private(set) var bytes = Self.first
    /// The end of a packet, in bytes since the connection's start, and when it was sent.
    private var probe: (end: Int64, sent: HostInstant)?
    private var wasFull = false
    /// From then on the window grows by packets, and not by doubling.
    private var hasFoundTheEnd = false
    private var usualTrip: Duration?

    /// Whether a packet may go now.
    ///
    /// - Parameters:
    ///   - count: its bytes.
    ///   - duration: of its sound.
    ///   - sent: bytes handed to the kernel since the connection's start.
    ///   - underWay: how many of them the speaker has not acknowledged.
    ///   - shortest: the connection's shortest way there and back.
    mutating func admits(
        _ count: Int, lasting duration: Duration, sent: Int64, underWay: Int, shortest: Duration, at now: HostInstant
    ) -> Bool {
        if let probe, sent - Int64(underWay) >= probe.end {
            learn(
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

    /// One packet's way there and back says how long the queue is; once for each such way the window changes.
    private mutating func learn(from trip: Duration, _ shortest: Duration, pace: Double, packet: Int) {
        usualTrip = usualTrip.map { ($0 * 7 + trip) / 8 } ?? trip
        let passes = Double(bytes) / (trip / .seconds(1))
        if trip - shortest > Self.patience {
            if passes < Self.enough * pace {
                bytes /= 2
                hasFoundTheEnd = true
            }
        } else if wasFull {
            bytes += hasFoundTheEnd ? packet : bytes
        }
        wasFull = false
        let least = Int(Self.leastPace * pace * (max(trip, usualTrip ?? trip) / .seconds(1)))
        bytes = min(max(bytes, least, 2 * packet), Self.widest)
    }
}
