internal import MediaCore

/// Places decoded audio in media time by counting frames; timestamps only correct it.
///
/// Containers round timestamps (Matroska to milliseconds) or let them jitter; counting is exact. A
/// persistent difference is adopted.
struct AudioTimeline {
    enum Verdict: Equatable {
        /// Continues the counted audio.
        case joins
        /// This many frames are missing before it.
        case gap(Int)
        /// This many of its frames are already present.
        case overlap(Int)
        /// It is too far away to be corrected.
        case jump
    }

    /// Media time of the first frame.
    let start: MediaTime
    /// Frames per second.
    let rate: Int32
    private(set) var frames: Int64 = 0
    /// Differences of the last timestamps in nanoseconds; a ring buffer.
    private var errors = [8 of Int64](repeating: 0)
    private var errorCount = 0

    /// Difference in nanoseconds that a single timestamp may have, such as an MP3 frame in an AVI file.
    static let jitter: Int64 = 30_000_000
    /// Difference in nanoseconds above which timestamps on one side are adopted; larger than any container's rounding.
    static let bias: Int64 = 2_000_000
    /// Gap in nanoseconds up to which silence is inserted; a longer one is a jump.
    static let longestGap: Int64 = 2_000_000_000

    /// Rounding error in nanoseconds of containers with millisecond timestamps.
    static let rounding: Int64 = 1_000_000

    init(start: MediaTime, rate: Int32) {
        self.start = start
        self.rate = max(1, rate)
    }

    /// Media time just after the last counted frame.
    var end: MediaTime { start + MediaTime(value: frames, timescale: rate) }

    mutating func count(_ more: Int) { frames &+= Int64(more) }

    /// Compares a timestamp with the count. Returns what to do with its audio.
    mutating func check(_ time: MediaTime?) -> Verdict {
        guard let time else { return .joins }
        let error = (time - end).nanoseconds
        if error > Self.longestGap || error < -Self.longestGap { return .jump }
        if abs(error) > Self.jitter { return correction(of: error) }
        errors[errorCount % errors.count] = error
        errorCount += 1
        guard errorCount >= errors.count else { return .joins }
        var (lowest, highest, sum) = (Int64.max, Int64.min, Int64.zero)
        for index in errors.indices {
            lowest = min(lowest, errors[index])
            highest = max(highest, errors[index])
            sum += errors[index]
        }
        // Differences on both sides are jitter; differences on one side are an error of the count.
        if lowest <= Self.bias, highest >= -Self.bias { return .joins }
        return correction(of: sum / Int64(errors.count))
    }

    /// Compares the first timestamp after a gapless boundary with the count.
    ///
    /// A gap or overlap is corrected here at once instead of later within the audio.
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
