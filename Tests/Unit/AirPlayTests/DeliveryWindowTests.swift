import MediaCore
import Testing

@testable import AirPlay

/// The link is a simulated queue of bytes in virtual time: no socket, no thread.
@Suite struct DeliveryWindowTests {
    private static let origin = HostInstant(nanoseconds: 1_000_000_000_000)
    private static let packet = (bytes: 540, lasts: Duration.nanoseconds(21_333_333))

    /// Bytes pass in sequence, and each packet is acknowledged one `way` after it has passed.
    private struct Link {
        var bytesPerSecond: Double
        var way: Duration
        /// Maximum additional delay, which varies from packet to packet.
        var unevenness: Duration = .zero
        var isFreeAt = DeliveryWindowTests.origin
        var arrivals: [(at: HostInstant, bytes: Int)] = []
        private var random = 1

        init(bytesPerSecond: Double, way: Duration, unevenness: Duration = .zero) {
            (self.bytesPerSecond, self.way, self.unevenness) = (bytesPerSecond, way, unevenness)
        }

        /// Returns how long a PTP message would wait in the queue.
        func queue(at now: HostInstant) -> Duration { max(.zero, isFreeAt - now) }

        mutating func send(_ bytes: Int, at now: HostInstant) {
            isFreeAt = max(isFreeAt, now).advanced(by: .seconds(Double(bytes) / bytesPerSecond))
            random = random &* 1_103_515_245 &+ 12345
            let more = unevenness * Double(random >> 16 & 1023) / 1023
            let at = isFreeAt.advanced(by: way + more)
            // TCP acknowledges in order.
            arrivals.append((max(at, arrivals.last?.at ?? at), bytes))
        }

        mutating func acknowledged(until now: HostInstant) -> Int {
            let passed = arrivals.prefix { $0.at <= now }
            arrivals.removeFirst(passed.count)
            return passed.reduce(0) { $0 + $1.bytes }
        }
    }

    /// Fills a buffer for a duration; returns the film duration that was transmitted, and the queueing delay of a PTP
    /// message at each send.
    private func fill(_ link: Link, for duration: Duration) -> (film: Duration, waits: [Duration]) {
        var (link, window, underWay, sent) = (link, DeliveryWindow(), 0, Int64(0))
        var (now, through, waits): (HostInstant, Int, [Duration]) = (Self.origin, 0, [])
        while now - Self.origin < duration {
            let acknowledged = link.acknowledged(until: now)
            (underWay, through) = (underWay - acknowledged, through + acknowledged)
            while window.admits(
                Self.packet.bytes, lasting: Self.packet.lasts, sent: sent, underWay: underWay, shortest: link.way,
                at: now)
            {
                link.send(Self.packet.bytes, at: now)
                (underWay, sent) = (underWay + Self.packet.bytes, sent + Int64(Self.packet.bytes))
                waits.append(link.queue(at: now))
                // The kernel's buffer is limited.
                if underWay > 128 << 10 { break }
            }
            now = now.advanced(by: .milliseconds(2))
        }
        return (Self.packet.lasts * through / Self.packet.bytes, waits)
    }

    @Test func onASlowLinkTheClockWaitsTensOfMillisecondsBehindTheSoundAndTheBufferFills() {
        // 600 kbit/s, three times the bit rate of the film; a full kernel buffer would take 1.7 s.
        let (film, waits) = fill(Link(bytesPerSecond: 75_000, way: .milliseconds(1)), for: .seconds(10))
        let late = waits.sorted()
        #expect(late[late.count / 2] < .milliseconds(25))
        #expect(late.last! < .milliseconds(120))
        #expect(film > .seconds(19))
    }

    @Test func aFastLinkIsFilledAtOnce() {
        let (film, _) = fill(Link(bytesPerSecond: 3_000_000, way: .milliseconds(2)), for: .seconds(1))
        // The capacity of the link except for the first 0.1 s.
        #expect(film > .seconds(100))
    }

    @Test func aFastLinkWithAnUnevenWayIsNotTakenForASlowOne() {
        let link = Link(bytesPerSecond: 3_000_000, way: .milliseconds(2), unevenness: .milliseconds(30))
        #expect(fill(link, for: .seconds(1)).film > .seconds(20))
    }

    @Test func aVeryUnevenWayStillCarriesNearlyTwiceTheFilm() {
        let link = Link(bytesPerSecond: 1_000_000, way: .milliseconds(5), unevenness: .milliseconds(120))
        let (film, _) = fill(link, for: .seconds(10))
        #expect(film > .seconds(15))
    }

    @Test func aPacketGoesWhenNothingElseIsUnderWayHoweverLargeItIs() {
        var window = DeliveryWindow()
        let admitted = window.admits(
            64 << 10, lasting: Self.packet.lasts, sent: 0, underWay: 0, shortest: .milliseconds(1), at: Self.origin)
        #expect(admitted)
    }
}
