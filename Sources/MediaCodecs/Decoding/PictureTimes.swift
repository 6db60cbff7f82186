internal import MediaCore

/// Gives every decoded picture a time and a length, whatever its container left out or got wrong.
///
/// Counts in ticks of the track's own timescale, so that what was right stays exact.
struct PictureTimes {
    /// Ticks per second.
    private(set) var timescale: Int32
    /// Ticks of one picture by the container's nominal rate, or 0.
    private let nominal: Int64
    private var last: Int64?
    private var lastLength: Int64 = 0
    /// Stamps that were missing or wrong, so far.
    private(set) var repairs = 0

    init(timescale: Int32, frameRate: Ratio?) {
        self.timescale = max(1, timescale)
        if let frameRate, frameRate.value > 0.1, frameRate.value < 1000 {
            nominal = Int64(clamping: Double(self.timescale) / frameRate.value, in: 1...Int64(Int32.max) * 10)
        } else {
            nominal = 0
        }
    }

    /// After a jump nothing follows on from what was before.
    mutating func reset() {
        last = nil
        lastLength = 0
    }

    /// The time and length of the next picture, in order of showing.
    ///
    /// - Parameters:
    ///   - stated: what the stamps say, or nil.
    ///   - length: what the container says, or 0.
    ///   - extraFields: fields that the picture is shown longer (MPEG-2's `repeat_first_field`).
    mutating func place(_ stated: Int64?, length: Int64, extraFields: Int32 = 0) -> (start: Int64, length: Int64) {
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
                    // A stamp given twice or a little too early. Half a picture on, so that a right one that follows
                    // is right again.
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
