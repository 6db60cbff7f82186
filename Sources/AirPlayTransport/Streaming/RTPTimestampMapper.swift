package import MediaCore

/// Maps media time to RTP timestamps linearly.
///
/// Timestamps never decrease, even at a seek. Frames are counted in 64 bits, so the duration is unlimited.
package struct RTPTimestampMapper: Sendable {
    package let sampleRate: Int
    /// The RTP timestamp of frame 0.
    private let first: RTPTimestamp
    /// Frame number of the next contiguous packet.
    private var count: Int64 = 0
    /// Media time and frame number of the first packet since the last seek; nil after a seek.
    private var origin: (media: MediaTime, count: Int64)?
    /// The number of frames since the last seek.
    package private(set) var frames: Int64 = 0

    /// Containers round times to milliseconds: a packet this close to its expected time is contiguous.
    private static let tolerance: Duration = .milliseconds(3)
    /// Frames skipped at each seek, so that late old packets cannot overlap new ones.
    private static let jumpGap: Duration = .milliseconds(100)
    /// A longer gap is indistinguishable from a step back, since timestamps are 32-bit.
    private static let longestGap = Int64(Int32.max)
    /// Before comparisons, frame numbers are clamped to a quarter of the timestamp range around the next packet.
    private static let reach: Int64 = 1 << 30
    /// Limit of frame numbers in 64 bits; no media reaches it.
    private static let maxFrames = 9e18

    package init(sampleRate: Int, first: RTPTimestamp) {
        self.sampleRate = sampleRate
        self.first = first
    }

    private func frames(in time: MediaTime) -> Int64 { time.rescaled(to: Int32(clamping: sampleRate)) }

    /// The timestamp of the next contiguous packet.
    package var next: RTPTimestamp { first.advanced(byFrames: count) }

    /// Returns the timestamp of a packet and advances by its length.
    ///
    /// - Parameters:
    ///   - time: Media time; nil: contiguous.
    ///   - isContiguous: Whether to ignore `time`, for encoder output with rounded times.
    package mutating func map(_ time: MediaTime?, frames length: Int, isContiguous: Bool) -> RTPTimestamp {
        guard let origin else {
            self.origin = (time ?? .zero, count)
            return advance(length)
        }
        guard let time, !isContiguous else { return advance(length) }
        let gap = gap(before: time, since: origin)
        // A packet that overlaps the previous one is damaged and treated as contiguous.
        if gap > frames(in: .zero.advanced(by: Self.tolerance)), gap <= Self.longestGap { count += gap }
        return advance(length)
    }

    private func gap(before time: MediaTime, since origin: (media: MediaTime, count: Int64)) -> Int64 {
        origin.count.addingClamped(frames(in: time - origin.media)).subtractingClamped(count)
    }

    /// The number of frames between the last packet and a media time; negative if they overlap, 0 before the first
    /// packet.
    package func gap(before time: MediaTime) -> Int64 { origin.map { gap(before: time, since: $0) } ?? 0 }

    private mutating func advance(_ length: Int) -> RTPTimestamp {
        let start = next
        count += Int64(length)
        frames += Int64(length)
        return start
    }

    /// Media time of the next contiguous packet at `speed` media seconds per second of audio; nil before the first.
    package func end(at speed: Double) -> MediaTime? {
        guard speed != 1, let origin else { return media(at: count) }
        let seconds = Double(count - origin.count) / Double(sampleRate) * speed
        return MediaTime(boundedSeconds: seconds).map { origin.media + $0 }
    }

    private func media(at count: Int64) -> MediaTime? {
        origin.map { $0.media + MediaTime(value: count - $0.count, timescale: Int32(clamping: sampleRate)) }
    }

    /// Timestamps skipped on the wire before repeated packets: a tenth of a second.
    package var rewindGap: Int64 { Int64(sampleRate / 10) }

    /// Whether no packet was placed since the start or the last seek.
    package var isEmpty: Bool { origin == nil }

    /// Returns the timestamp of a packet directly before the next one.
    package func preceding(frames length: Int) -> RTPTimestamp { next.advanced(byFrames: -Int64(length)) }

    /// Starts a new timeline after a seek, with a small gap of timestamps.
    package mutating func jump() {
        origin = nil
        frames = 0
        count += frames(in: .zero.advanced(by: Self.jumpGap))
    }

    /// Removes all packets from a timestamp on; the next packet begins there.
    package mutating func cut(at timestamp: RTPTimestamp) {
        let dropped = Int64(timestamp.distance(to: next))
        guard dropped > 0 else { return }
        count -= dropped
        frames = max(0, frames - dropped)
    }

    /// Returns the media time of a used timestamp at speed 1; nil after a seek.
    package func media(of timestamp: RTPTimestamp) -> MediaTime? {
        media(at: count + Int64(next.distance(to: timestamp)))
    }

    /// Returns the timestamp heard at a media time, at `rate` media seconds per second of audio.
    package func timestamp(of time: MediaTime, rate: Double) -> RTPTimestamp? {
        count(of: time, rate: rate).map { first.advanced(byFrames: $0) }
    }

    /// Returns the same timestamp clamped for comparison with packets: the order is correct at any distance.
    package func bound(of time: MediaTime, rate: Double) -> RTPTimestamp? {
        count(of: time, rate: rate).map { place in
            first.advanced(byFrames: max(count - Self.reach, min(place, count + Self.reach)))
        }
    }

    private func count(of time: MediaTime, rate: Double) -> Int64? {
        guard let origin, rate > 0 else { return nil }
        let film = time - origin.media
        let distance: Int64
        if rate == 1 {
            distance = frames(in: film)
        } else {
            let exact = (film.seconds / rate * Double(sampleRate)).rounded()
            distance = Int64(max(-Self.maxFrames, min(exact, Self.maxFrames)))
        }
        return origin.count.addingClamped(distance)
    }
}
