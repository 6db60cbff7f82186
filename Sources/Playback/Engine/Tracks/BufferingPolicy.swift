internal import MediaCore

/// The reserves of all tracks at one time, accumulated track by track.
struct BufferedSupply {
    /// A track that is not at its end.
    struct Track {
        /// The timeline up to which its renderer or output has media; nil before the first.
        var handedUntil: MediaTime?
        /// The timeline up to which the source has delivered; nil before the first packet.
        var readUntil: MediaTime?
        /// Whether the track lacks media because its source delivers nothing.
        var isWaitingForSource: Bool
        /// Whether the track cannot read further ahead.
        var isSated = false
        /// Whether the source has delivered nothing for so long that the track may have ended.
        var isSilent = false
        /// How long before the end of the media the timeline must stop, so that no output plays silence.
        var margin: Duration
    }

    private let playhead: MediaTime
    private let speed: Double
    private let reserve: Duration
    /// The position at which no more media is required.
    private let end: MediaTime?

    /// Whether a track is about to underrun because its source delivers nothing.
    private(set) var isStarved = false
    /// Whether any track lacks media because its source delivers nothing.
    private(set) var isWaitingForSource = false
    /// The smallest share of the reserve that a track has, 0…1.
    private(set) var share = 1.0
    /// Same without tracks whose sources are silent; nil if all are.
    private(set) var shareOfOthers: Double?
    /// Host time until the first track may underrun.
    private(set) var untilDry: Duration?

    /// An item with less remaining media counts as read to its end.
    private static let remainder = Duration.milliseconds(50)

    /// Creates the reserves without tracks.
    ///
    /// - Parameters:
    ///   - playhead: The current position on the timeline.
    ///   - reserve: The host time that each track's media must last when playback continues.
    ///   - end: The position on the timeline at which the media is known to end.
    init(at moment: MediaTime, speed: Double, reserve: Duration, end: MediaTime?) {
        (self.playhead, self.speed, self.reserve, self.end) = (moment, max(speed, 0.01), reserve, end)
    }

    /// Adds a track.
    ///
    /// - Parameter delay: The delay of the track's presentation against the timeline.
    mutating func add(_ track: Track, delay: Duration = .zero) {
        func ahead(_ position: MediaTime?) -> Duration { ((position ?? playhead) - playhead).duration / speed }
        func isLast(_ position: MediaTime?) -> Bool {
            guard let position, let end else { return false }
            // Media beyond the stated end proves it wrong.
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

/// Determines the reserve required before playback continues after a hold. A value type; the caller provides the time.
///
/// Modelled on mpv's `cache-pause` and `cache-pause-wait`: the first hold waits for one second of media. A hold soon
/// after the last one doubles that, so that a source slower than real time plays in longer parts.
struct BufferingPolicy {
    /// mpv's `cache-pause-wait`.
    private static let minReserve = Duration.seconds(1)
    private static let maxReserve = Duration.seconds(4)
    /// A hold within this time after the last one is a repeated one.
    private static let repetition = Duration.seconds(20)
    /// A seek that takes longer reports that it waits for its source, and collects a reserve.
    static let slowJump = Duration.milliseconds(300)

    /// Whether the timeline is held, or must not start without a reserve.
    private(set) var isHolding = false
    /// The host time that each track's media must last when playback continues.
    private(set) var reserve = minReserve
    private var ended: HostInstant?

    /// Starts a hold, unless one is in progress.
    mutating func hold(at now: HostInstant) {
        guard !isHolding else { return }
        isHolding = true
        let isRepeated = ended.map { now - $0 < Self.repetition } ?? false
        reserve = isRepeated ? min(Self.maxReserve, reserve * 2) : Self.minReserve
    }

    /// Ends the hold if the reserve is complete; returns whether it is.
    ///
    /// - Parameter share: The share of the reserve of the track that has least.
    mutating func release(share: Double, at now: HostInstant) -> Bool {
        guard share >= 1 else { return false }
        if isHolding { ended = now }
        isHolding = false
        return true
    }

    /// Cancels a hold because of a seek or another item.
    mutating func abandon(at now: HostInstant) {
        if isHolding { ended = now }
        isHolding = false
    }
}
