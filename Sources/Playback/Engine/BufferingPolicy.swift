internal import MediaCore

/// What the tracks of a film have in reserve at one moment, gathered track by track.
struct BufferedSupply {
    /// One track that is not at its end.
    struct Track {
        /// Position up to which its renderer, or the output, has material; nil before the first.
        var handedUntil: MediaTime?
        /// Position up to which the source has delivered; nil before the first packet.
        var readUntil: MediaTime?
        /// The track lacks material because its source delivers nothing.
        var isWaitingForSource: Bool
        /// The track cannot read more ahead than it has.
        var isSated = false
        /// The source has delivered nothing for so long that the track may have ended.
        var isSilent = false
        /// So long before the material ends film time must stop, so that no output plays silence.
        var margin: Duration
    }

    private let moment: MediaTime
    private let speed: Double
    private let reserve: Duration
    /// Film time at which nothing more is needed.
    private let end: MediaTime?

    /// A track is about to run dry, and its source delivers nothing.
    private(set) var isStarved = false
    /// A track lacks material because its source delivers nothing.
    private(set) var isWaitingForSource = false
    /// The smallest share of the reserve that a track has, 0…1.
    private(set) var share = 1.0
    /// The same without tracks whose sources are silent; nil where all are.
    private(set) var shareOfOthers: Double?
    /// Host time until the first track may run dry.
    private(set) var untilDry: Duration?

    /// What is left of the film when it counts as read to its end.
    private static let remainder = Duration.milliseconds(50)

    /// - Parameters:
    ///   - moment: the film position that is perceived, on the timeline.
    ///   - reserve: the host time that each track's material is to last when film time passes again.
    ///   - end: position on the timeline where the film is known to end.
    init(at moment: MediaTime, speed: Double, reserve: Duration, end: MediaTime?) {
        (self.moment, self.speed, self.reserve, self.end) = (moment, max(speed, 0.01), reserve, end)
    }

    /// - Parameter delay: how much later than the timeline the track is perceived.
    mutating func add(_ track: Track, delay: Duration = .zero) {
        func ahead(_ position: MediaTime?) -> Duration { ((position ?? moment) - moment).duration / speed }
        func isLast(_ position: MediaTime?) -> Bool {
            guard let position, let end else { return false }
            // Whatever lies further on proves the stated end wrong.
            return abs((end - position).nanoseconds) <= Self.remainder.wholeNanoseconds
        }
        if track.isWaitingForSource { isWaitingForSource = true }
        if let handed = track.handedUntil, !isLast(handed) {
            let left = ahead(handed) + delay - track.margin
            if left <= .zero, track.isWaitingForSource { isStarved = true }
            untilDry = min(untilDry ?? left, left)
        }
        let own =
            track.isSated || isLast(track.readUntil)
            ? 1 : min(1, max(0, ahead(track.readUntil).inSeconds / max(0.001, reserve.inSeconds)))
        share = min(share, own)
        if !track.isSilent { shareOfOthers = min(shareOfOthers ?? own, own) }
    }
}

/// Decides how much must be in reserve before a film that ran out of material continues. A value; the caller brings the time.
///
/// As mpv's `cache-pause` and `cache-pause-wait`: the first hold waits for one second of film. A hold soon after the last one doubles
/// that, so that a stream slower than its film plays in stretches that can be watched.
struct BufferingPolicy {
    /// mpv's `cache-pause-wait`.
    private static let minReserve = Duration.seconds(1)
    private static let maxReserve = Duration.seconds(4)
    /// A hold that begins within this time after the last one ended is a repeated one.
    private static let repetition = Duration.seconds(20)
    /// A jump that takes longer is reported as waiting for its source, and collects a reserve.
    static let slowJump = Duration.milliseconds(300)

    /// Film time is held, or is not to pass before there is a reserve.
    private(set) var isHolding = false
    /// The host time that each track's material is to last when film time passes again.
    private(set) var reserve = minReserve
    private var ended: HostInstant?

    /// Begins a hold, unless one is under way.
    mutating func hold(at now: HostInstant) {
        guard !isHolding else { return }
        isHolding = true
        let isRepeated = ended.map { now - $0 < Self.repetition } ?? false
        reserve = isRepeated ? min(Self.maxReserve, reserve * 2) : Self.minReserve
    }

    /// Ends the hold where there is a reserve.
    ///
    /// - Parameter share: of the reserve, as the track that has least.
    mutating func release(share: Double, at now: HostInstant) -> Bool {
        guard share >= 1 else { return false }
        if isHolding { ended = now }
        isHolding = false
        return true
    }

    /// Forgets a hold that something else has ended: a jump, another film.
    mutating func abandon(at now: HostInstant) {
        if isHolding { ended = now }
        isHolding = false
    }
}
