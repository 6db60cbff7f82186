internal import MediaCore

/// Assigns a start and a duration to every decoded frame, and repairs missing and wrong timestamps.
///
/// Times are ticks of the track's timescale, so correct timestamps stay exact.
struct FrameTimes {
    /// Ticks per second.
    private(set) var timescale: Int32
    /// Frame duration in ticks by the container's nominal rate, or 0.
    private let nominal: Int64
    private var last: Int64?
    private var lastLength: Int64 = 0
    /// The number of missing or wrong timestamps so far.
    private(set) var repairs = 0

    init(timescale: Int32, frameRate: Ratio?) {
        self.timescale = max(1, timescale)
        if let frameRate, frameRate.value > 0.1, frameRate.value < 1000 {
            nominal = Int64(clamping: Double(self.timescale) / frameRate.value, in: 1...Int64(Int32.max) * 10)
        } else {
            nominal = 0
        }
    }

    /// Forgets the previous frame, for a seek.
    mutating func reset() {
        last = nil
        lastLength = 0
    }

    /// Returns start and duration of the next frame in display order.
    ///
    /// - Parameters:
    ///   - stated: The timestamp, or nil.
    ///   - length: The duration of the container, or 0.
    ///   - extraFields: Additional fields of display time (MPEG-2's `repeat_first_field`).
    mutating func assign(_ stated: Int64?, length: Int64, extraFields: Int32 = 0) -> (start: Int64, length: Int64) {
        var duration = length > 0 && length <= Int64(timescale) * 60 ? length : nominal
        if duration == 0 {
            if lastLength > 0 { duration = lastLength } else { duration = max(1, Int64(timescale) / 25) }
        } else if length <= 0, extraFields > 0, extraFields <= 4 {
            duration += duration * Int64(extraFields) / 2
        }
        var start: Int64
        if let stated = stated?.boundedTicks {
            start = stated
            if let last, stated <= last {
                if last - stated <= Int64(timescale) / 4 {
                    // A repeated or slightly early timestamp: half a frame later, so that a
                    // correct one that follows stays valid.
                    start = last + max(1, min(duration, lastLength > 0 ? lastLength : duration) / 2)
                    repairs += 1
                } else {
                    repairs += 1
                }
            } else if let last, length <= 0, nominal == 0, stated - last < Int64(timescale) {
                duration = stated - last
            }
        } else {
            start = last.map { $0 + lastLength } ?? 0
            repairs += 1
        }
        last = start
        lastLength = duration
        return (start, duration)
    }
}
