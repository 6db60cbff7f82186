internal import MediaCore

/// Which pauses in the timestamps of a film are believed, for `GapFollower` and `JumpFollower`.
///
/// The limit is `ReadOptions.maxGap` for all pauses together, in which no track has a packet; what follows makes up for
/// them. Otherwise a wrong time base stretches a second of packets to hours of pauses.
struct PauseLimit {
    let maxGap: MediaTime
    /// The film's stated length; nil where it is not known.
    let duration: MediaTime?
    /// Pauses of all tracks that the film after them has not made up for.
    private var pauses = MediaTime.zero

    /// A distance between packets that is no pause.
    private static let maxStep = MediaTime(value: 1, timescale: 1)

    /// How many seconds of pauses one second of packets makes up for.
    private static let recovery: Int64 = 4

    /// The longest pause of one track that is believed in a film with sound, where the others are not known to go on so
    /// long. Packets of one time are nearer to each other in the file.
    static let longestSilentStill = MediaTime(value: 600, timescale: 1)

    /// Where neither sound nor a stated length says more.
    private static let longestStill = MediaTime(value: 3600, timescale: 1)

    init(maxGap: Duration, duration: MediaTime?) {
        self.maxGap = MediaTime(nanoseconds: max(1_000_000_000, maxGap.wholeNanoseconds))
        self.duration = duration
    }

    /// The longest pause that is believed without looking at the other tracks.
    var longest: MediaTime { max(Self.maxStep, maxGap - pauses) }

    /// Counts a packet that lies from `time` to `end`, where all tracks had ended at `front`.
    mutating func advance(from front: MediaTime, to time: MediaTime, end: MediaTime) {
        pauses =
            time - front > Self.maxStep
            ? pauses + (time - front) : max(.zero, pauses - (end - front) * Self.recovery)
    }

    /// Reading continues elsewhere.
    mutating func reset() { pauses = .zero }

    func isPlausible(_ time: MediaTime) -> Bool { duration.map { time <= $0 + maxGap } ?? true }

    /// Whether pictures may stay away until a film time, as far as the film's length says.
    func isStill(_ place: MediaTime, until time: MediaTime, hasSound: Bool) -> Bool {
        guard time > place else { return false }
        if hasSound { return isPlausible(time) && time - place <= Self.longestSilentStill }
        return duration != nil ? isPlausible(time) : time - place <= Self.longestStill
    }
}
