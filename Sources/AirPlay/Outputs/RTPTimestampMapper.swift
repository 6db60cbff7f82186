internal import MediaCore

/// Places packets on the stream's clock: film moments become RTP timestamps along one straight line.
///
/// Timestamps never go back, not even across a jump of the film. Behind them frames are counted in 64 bits, so that a line
/// may last for as long as anybody plays.
struct RTPTimestampMapper {
    let sampleRate: Int
    /// Where the count begins on the wire.
    private let first: RTPTimestamp
    /// Frames from there to where the next packet begins if it follows on.
    private var count: Int64 = 0
    /// Film time of the first packet of the present line, and its place in the count; nil after a jump.
    private var origin: (media: MediaTime, count: Int64)?
    /// Frames placed on the present line.
    private(set) var frames: Int64 = 0

    /// Containers round times to milliseconds; less than this from where a packet should begin, it does begin there.
    private static let tolerance: Duration = .milliseconds(3)
    /// Left unused at each jump, so that a late old packet cannot fall among new ones.
    private static let jumpGap: Duration = .milliseconds(100)
    /// A hole in the sound longer than half the circle of timestamps cannot be told from a step back.
    private static let longestGap = Int64(Int32.max)
    /// Packets and moments are compared on that circle: what is further away than a quarter of it counts as so far.
    private static let reach: Int64 = 1 << 30
    /// Frames that 64 bits can count; no film has them.
    private static let furthest = 9e18

    init(sampleRate: Int, first: RTPTimestamp) {
        self.sampleRate = sampleRate
        self.first = first
    }

    private func frames(in time: MediaTime) -> Int64 { time.rescaled(to: Int32(clamping: sampleRate)) }

    /// Where the next packet begins if it follows on.
    var next: RTPTimestamp { first.advanced(byFrames: count) }

    /// The timestamp of a packet.
    ///
    /// - Parameters:
    ///   - time: nil follows on.
    ///   - isContiguous: packets of an encoder follow on whatever rounding their times have been through.
    mutating func place(_ time: MediaTime?, frames length: Int, isContiguous: Bool) -> RTPTimestamp {
        guard let origin else {
            self.origin = (time ?? .zero, count)
            return advance(length)
        }
        guard let time, !isContiguous else { return advance(length) }
        let gap = origin.count.addingClamped(frames(in: time - origin.media)).subtractingClamped(count)
        // A packet that claims to begin inside the one before is damaged; it follows on.
        if gap > frames(in: .zero.advanced(by: Self.tolerance)), gap <= Self.longestGap { count += gap }
        return advance(length)
    }

    private mutating func advance(_ length: Int) -> RTPTimestamp {
        let start = next
        count += Int64(length)
        frames += Int64(length)
        return start
    }

    /// Film time at which the next packet begins if it follows on, at natural speed; nil before the first.
    var end: MediaTime? { media(at: count) }

    private func media(at count: Int64) -> MediaTime? {
        origin.map { $0.media + MediaTime(value: count - $0.count, timescale: Int32(clamping: sampleRate)) }
    }

    /// Whether nothing has been placed since the beginning or the last jump.
    var isEmpty: Bool { origin == nil }

    /// Where a packet lies that is to come right before the next one.
    func preceding(frames length: Int) -> RTPTimestamp { next.advanced(byFrames: -Int64(length)) }

    /// The film jumps: the next packet begins a new line, a little further on.
    mutating func jump() {
        origin = nil
        frames = 0
        count += frames(in: .zero.advanced(by: Self.jumpGap))
    }

    /// What lay from a timestamp on is gone; the next packet begins there.
    mutating func cut(at timestamp: RTPTimestamp) {
        let dropped = Int64(timestamp.distance(to: next))
        guard dropped > 0 else { return }
        count -= dropped
        frames = max(0, frames - dropped)
    }

    /// The film time at natural speed of a timestamp that a packet has or had; nil after a jump.
    func media(of timestamp: RTPTimestamp) -> MediaTime? {
        media(at: count + Int64(next.distance(to: timestamp)))
    }

    /// The timestamp heard at a film moment, when film passes at `rate` film seconds per second of sound.
    func timestamp(of time: MediaTime, rate: Double) -> RTPTimestamp? {
        count(of: time, rate: rate).map { first.advanced(byFrames: $0) }
    }

    /// The same to look for among packets: right about what comes before what, however far away the moment is.
    func bound(of time: MediaTime, rate: Double) -> RTPTimestamp? {
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
            distance = Int64(max(-Self.furthest, min(exact, Self.furthest)))
        }
        return origin.count.addingClamped(distance)
    }
}
