internal import MediaCore

/// Adapts the decoder's skip policy to whether its frames arrive in time.
///
/// A dozen consecutive late frames cost one step, unless the decoder is catching up: after a stall of the input or the
/// machine, decoding everything is on time again before the next sync frame. Recovery is measured in media time and not
/// in frames. With sync frames only, which are seconds apart, a count would keep a briefly slow item skipping for
/// minutes.
struct SkipPolicySelector {
    /// The number of consecutive late frames per step down.
    static let maxLateFrames = 12
    /// The timely media time per step up; a dozen seconds lead from sync frames only to full decoding.
    static let recovery: Duration = .seconds(4)

    /// Screens with a higher frame rate are rare, and the difference is invisible in fast playback.
    private static let maxFramesPerSecond = 120.0

    /// Returns true if frames of a duration pass faster than they can be shown, with a tolerance for rounded durations.
    static func isHurried(_ length: MediaTime, at rate: Double) -> Bool {
        length > .zero && rate / length.seconds > maxFramesPerSecond * 1.01
    }

    /// Returns the number of frames of a duration that are missing between two media times.
    static func missing(from end: MediaTime, to start: MediaTime, each length: MediaTime) -> Int {
        guard length > .zero, start > end else { return 0 }
        return Int(clamping: (start - end).seconds / length.seconds, in: 0...1 << 40)
    }

    private var lateInARow = 0
    /// The end of the first late frame in a row, and when it was decoded.
    private var firstLate: (end: MediaTime, now: MediaTime)?
    private var timelySince: MediaTime?

    enum Advice: Equatable { case same, less, more }

    /// Resets the state after a seek of the decoder.
    mutating func reset() { self = SkipPolicySelector() }

    /// Returns the advice after a frame that ends at `end` was decoded at `now`.
    ///
    /// - Parameter followsSkip: Whether the decoder skipped to this frame, which counts as a dozen.
    mutating func advice(end: MediaTime, now: MediaTime, followsSkip: Bool = false) -> Advice {
        guard end >= now else {
            timelySince = nil
            lateInARow += followsSkip ? Self.maxLateFrames : 1
            let first = firstLate ?? (end, now)
            firstLate = first
            guard lateInARow >= Self.maxLateFrames else { return .same }
            lateInARow = 0
            firstLate = (end, now)
            // Twice as fast as playback: the delay is gone after at most its own duration in host time.
            let isCatchingUp = end > first.end && (now - first.now) * 2 <= end - first.end
            return isCatchingUp ? .same : .less
        }
        (lateInARow, firstLate) = (0, nil)
        guard let since = timelySince else {
            timelySince = end
            return .same
        }
        guard (end - since).duration >= Self.recovery else { return .same }
        timelySince = end
        return .more
    }
}
