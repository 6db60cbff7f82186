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
    /// The last stamps' disagreement, in nanoseconds, newest last once it is full.
    private var errors = [8 of Int64](repeating: 0)
    private var errorCount = 0

    /// One stamp may be this far off when those around it agree with the count: an MP3 frame in an AVI file.
    static let jitter: Int64 = 30_000_000
    /// All of the last stamps may be this far off in one direction. Above the rounding of any container.
    static let bias: Int64 = 2_000_000
    /// A hole up to this long is filled with silence; a longer one is a jump.
    static let longestGap: Int64 = 2_000_000_000

    /// Stamps of a container that counts in milliseconds are this far off.
    static let rounding: Int64 = 1_000_000

    init(start: MediaTime, rate: Int32) {
        self.start = start
        self.rate = max(1, rate)
    }

    /// Film time just after the last frame counted.
    var end: MediaTime { start + MediaTime(value: frames, timescale: rate) }

    mutating func count(_ more: Int) { frames &+= Int64(more) }

    /// How sound stamped with `time` lies against what was counted.
    mutating func place(_ time: MediaTime?) -> Verdict {
        guard let time else { return .joins }
        let error = (time - end).nanoseconds
        if error > Self.longestGap || error < -Self.longestGap { return .jump }
        if abs(error) > Self.jitter { return correction(of: error) }
        errors[errorCount % errors.count] = error
        errorCount += 1
        guard errorCount >= errors.count else { return .joins }
        var (least, most, sum) = (Int64.max, Int64.min, Int64.zero)
        for index in errors.indices {
            least = min(least, errors[index])
            most = max(most, errors[index])
            sum += errors[index]
        }
        // Stamps on both sides of the count jitter; stamps all on one side mean that the count is off.
        if least <= Self.bias, most >= -Self.bias { return .joins }
        return correction(of: sum / Int64(errors.count))
    }

    /// How the first sound of a new piece lies against what was counted: here a hole or an overlap is put right at once,
    /// where a seam is, instead of later in the middle of the piece.
    mutating func join(_ time: MediaTime?) -> Verdict {
        errorCount = 0
        guard let time else { return .joins }
        let error = (time - end).nanoseconds
        if error > Self.longestGap || error < -Self.longestGap { return .jump }
        return abs(error) > Self.rounding ? correction(of: error) : .joins
    }

    private mutating func correction(of error: Int64) -> Verdict {
        errorCount = 0
        let frames = Int(clamping: Double(abs(error)) * Double(rate) / 1e9, in: 0...Int(Int32.max))
        return error > 0 ? .gap(frames) : .overlap(frames)
    }
}
