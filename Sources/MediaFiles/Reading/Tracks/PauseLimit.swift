internal import MediaCore

/// Decides which pauses in the timestamps of a film are accepted, for `GapFollower` and `JumpFollower`.
///
/// The sum of all pauses, in which no track has a packet, is limited to `ReadOptions.maxGap`; packets after a pause
/// reduce the sum. Without the limit, a wrong time base stretches a second of packets to hours of pauses.
struct PauseLimit {
    let maxGap: MediaTime
    /// The film's stated length; nil if unknown.
    let duration: MediaTime?
    /// The sum of pauses of all tracks that later packets have not compensated.
    private var pauses = MediaTime.zero

    /// The largest packet interval that is not a pause.
    private static let maxStep = MediaTime(value: 1, timescale: 1)

    /// The seconds of pauses that one second of packets compensates.
    private static let recovery: Int64 = 4

    /// The longest accepted pause of one track in a film with audio, if other tracks are not known to continue as long.
    /// Packets of the same time are closer to each other in the file.
    static let longestSilentStill = MediaTime(value: 600, timescale: 1)

    /// The longest accepted pause without audio and without a stated length.
    private static let longestStill = MediaTime(value: 3600, timescale: 1)

    init(maxGap: Duration, duration: MediaTime?) {
        self.maxGap = MediaTime(nanoseconds: max(1_000_000_000, maxGap.wholeNanoseconds))
        self.duration = duration
    }

    /// The longest pause accepted without checking other tracks.
    var longest: MediaTime { max(Self.maxStep, maxGap - pauses) }

    /// Counts a packet from `time` to `end`; all tracks had ended at `front`.
    mutating func advance(from front: MediaTime, to time: MediaTime, end: MediaTime) {
        pauses =
            time - front > Self.maxStep
            ? pauses + (time - front) : max(.zero, pauses - (end - front) * Self.recovery)
    }

    /// Resets the sum after a seek.
    mutating func reset() { pauses = .zero }

    /// The tolerance of a stated length.
    private static let slack = MediaTime(value: 2, timescale: 1)

    /// Whether the stated length may include a gap whose end is at `time`. Otherwise less was read because the file is
    /// truncated.
    func mayInclude(_ time: MediaTime) -> Bool { duration.map { time <= $0 + Self.slack } ?? true }

    /// Whether the stated length may be computed from a single wrong timestamp.
    func mayEnd(at time: MediaTime) -> Bool { mayInclude(time) && duration.map { time >= $0 - Self.slack } ?? true }

    func isPlausible(_ time: MediaTime) -> Bool { duration.map { time <= $0 + maxGap } ?? true }

    /// Whether a pause of video until a film time is plausible for the film's length.
    func isStill(_ position: MediaTime, until time: MediaTime, hasAudio: Bool) -> Bool {
        guard time > position else { return false }
        if hasAudio { return isPlausible(time) && time - position <= Self.longestSilentStill }
        return duration != nil ? isPlausible(time) : time - position <= Self.longestStill
    }
}
