/// A timestamp of a stream's media clock: a wrapping 32-bit frame counter (RFC 3550, section 5.1).
///
/// There is no `<`, because wrapping counters have no order. Use `distance(to:)`, which is correct below half the range
/// (12 hours at 48 kHz).
package struct RTPTimestamp: Hashable, Sendable, BitwiseCopyable {
    /// The counter in frames.
    package var rawValue: UInt32

    /// Creates a timestamp.
    @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Returns the timestamp a number of frames later; earlier if negative.
    @inlinable package func advanced(byFrames frames: Int64) -> RTPTimestamp {
        RTPTimestamp(rawValue: rawValue &+ UInt32(truncatingIfNeeded: frames))
    }

    /// Returns the frames from this timestamp to another; negative if the other is earlier.
    @inlinable package func distance(to other: RTPTimestamp) -> Int32 {
        Int32(bitPattern: other.rawValue &- rawValue)
    }

    /// Returns the frames from this timestamp to another across any number of wraps: the candidate nearest to
    /// `expected`. The error of `expected` must be below half the range.
    @inlinable package func distance(to other: RTPTimestamp, near expected: Int64) -> Int64 {
        expected &+ Int64(advanced(byFrames: expected).distance(to: other))
    }
}
