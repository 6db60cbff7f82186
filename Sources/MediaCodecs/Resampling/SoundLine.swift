internal import MediaCore

/// Places decoded sound on the film by counting frames, and listens to the stamps only where they matter.
///
/// Containers round stamps (Matroska to milliseconds) or let them jitter; counting from the first is smoother and
/// exact. A stamp that keeps disagreeing is believed.
struct SoundLine {
    enum Verdict: Equatable {
        /// Follows on.
        case joins
        /// So many frames are missing before it.
        case gap(Int)
        /// So many of its frames are there already.
        case overlap(Int)
        /// It belongs somewhere else altogether.
        case jump
    }

    /// Film time of the first frame.
    let start: MediaTime
    /// Frames per second of what is counted.
    let rate: Int32
    private(set) var frames: Int64 = 0
    /// Mean of the last stamps' disagreement, in nanoseconds.
    private var meanError: Double = 0

    /// One stamp may be this far off when those around it agree: an MP3 frame in an AVI file.
    static let jitter: Int64 = 30_000_000
    /// The mean may be this far off. Below what an eye or ear can tell, above the rounding of any container.
    static let bias: Double = 6_000_000
    /// A hole up to this long is filled with silence; a longer one is a jump.
    static let longestGap: Int64 = 2_000_000_000
    /// The time over which disagreement is averaged.
    static let memory = 0.75

    init(start: MediaTime, rate: Int32) {
        self.start = start
        self.rate = max(1, rate)
    }

    /// Film time just after the last frame counted.
    var end: MediaTime { start + MediaTime(value: frames, timescale: rate) }

    mutating func count(_ more: Int) { frames &+= Int64(more) }

    /// How `length` frames stamped with `time` lie against what was counted.
    mutating func place(_ time: MediaTime?, length: Int) -> Verdict {
        guard let time else { return .joins }
        let error = (time - end).nanoseconds
        if error > Self.longestGap || error < -Self.longestGap { return .jump }
        let share = min(1, Double(length) / Double(rate) / Self.memory)
        meanError += (Double(error) - meanError) * share
        if abs(error) <= Self.jitter, abs(meanError) <= Self.bias { return .joins }
        let correction = abs(error) > Self.jitter ? Double(error) : meanError
        meanError = 0
        let frames = Int((abs(correction) * Double(rate) / 1e9).rounded())
        return correction > 0 ? .gap(frames) : .overlap(frames)
    }
}
