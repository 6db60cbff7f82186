internal import MediaCore

/// Places packets on the stream's clock: film moments become RTP timestamps along one straight line.
///
/// Timestamps never go back, not even across a jump of the film.
struct SoundLine {
    let sampleRate: Int
    /// Film time of the first packet of the present line, and its timestamp; nil after a jump.
    private(set) var origin: (media: MediaTime, timestamp: RTPTimestamp)?
    /// Where the next packet begins if it follows on.
    private(set) var next: RTPTimestamp
    /// Frames placed on the present line.
    private(set) var frames: Int64 = 0

    /// Containers round times to milliseconds; less than this from where a packet should begin, it does begin there.
    private static let tolerance: Duration = .milliseconds(3)
    /// Left unused at each jump, so that a late old packet cannot fall among new ones.
    private static let jumpGap: Duration = .milliseconds(100)

    init(sampleRate: Int, first: RTPTimestamp) {
        self.sampleRate = sampleRate
        next = first
    }

    private func frames(in time: MediaTime) -> Int64 { time.rescaled(to: Int32(clamping: sampleRate)) }

    /// The timestamp of a packet.
    ///
    /// - Parameters:
    ///   - time: nil follows on.
    ///   - isContiguous: packets of an encoder follow on whatever rounding their times have been through.
    mutating func place(_ time: MediaTime?, frames count: Int, isContiguous: Bool) -> RTPTimestamp {
        guard let origin else {
            self.origin = (time ?? .zero, next)
            return advance(next, count)
        }
        guard let time, !isContiguous else { return advance(next, count) }
        let exact = origin.timestamp.advanced(byFrames: frames(in: time - origin.media))
        let gap = Int64(next.distance(to: exact))
        // A packet that claims to begin inside the one before is damaged; it follows on.
        return advance(gap > frames(in: .zero.advanced(by: Self.tolerance)) ? exact : next, count)
    }

    private mutating func advance(_ start: RTPTimestamp, _ count: Int) -> RTPTimestamp {
        next = start.advanced(byFrames: Int64(count))
        frames += Int64(count)
        follow()
        return start
    }

    /// The origin stays within reach: distances on a circle of 32 bits are good for half of it, which films that follow
    /// one another for days would leave after 12 hours. Moved by whole frames, so that nothing is rounded.
    private mutating func follow() {
        guard let origin, origin.timestamp.distance(to: next) > Self.longestReach else { return }
        let step = Self.longestReach / 2
        self.origin = (
            origin.media + MediaTime(value: Int64(step), timescale: Int32(clamping: sampleRate)),
            origin.timestamp.advanced(byFrames: Int64(step))
        )
    }

    /// An hour and a half at 48 kHz.
    private static let longestReach: Int32 = 1 << 28

    /// Film time at which the next packet begins if it follows on, at natural speed; nil before the first.
    var end: MediaTime? {
        origin.map { origin in
            origin.media
                + MediaTime(
                    value: Int64(origin.timestamp.distance(to: next)), timescale: Int32(clamping: sampleRate))
        }
    }

    /// Whether nothing has been placed since the beginning or the last jump.
    var isEmpty: Bool { origin == nil }

    /// Where a packet lies that is to come right before the next one.
    func preceding(frames count: Int) -> RTPTimestamp { next.advanced(byFrames: -Int64(count)) }

    /// The film jumps: the next packet begins a new line, a little further on.
    mutating func jump() {
        origin = nil
        frames = 0
        next = next.advanced(byFrames: frames(in: .zero.advanced(by: Self.jumpGap)))
    }

    /// What lay from a timestamp on is gone; the next packet begins there.
    mutating func cut(at timestamp: RTPTimestamp) {
        let dropped = Int64(timestamp.distance(to: next))
        guard dropped > 0 else { return }
        next = timestamp
        frames = max(0, frames - dropped)
    }

    /// The film time of a timestamp at natural speed; nil after a jump.
    func media(of timestamp: RTPTimestamp) -> MediaTime? {
        origin.map { origin in
            origin.media
                + MediaTime(
                    value: Int64(origin.timestamp.distance(to: timestamp)), timescale: Int32(clamping: sampleRate))
        }
    }

    /// The timestamp heard at a film moment, when film passes at `rate` film seconds per second of sound.
    func timestamp(of time: MediaTime, rate: Double) -> RTPTimestamp? {
        guard let origin, rate > 0 else { return nil }
        let film = time - origin.media
        let distance =
            rate == 1 ? frames(in: film) : Int64((film.seconds / rate * Double(sampleRate)).rounded())
        return origin.timestamp.advanced(byFrames: distance)
    }
}
