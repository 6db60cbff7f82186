/// A moment on one stream's media clock: a frame counter of 32 bits that wraps (RFC 3550, section 5.1).
///
/// Order is meaningless on a circle, so there is no `<`: compare with `distance(to:)`, which is right as long as
/// the two are less than half a circle apart (12 hours at 48 kHz).
public struct RTPTimestamp: Hashable, Sendable, BitwiseCopyable {
    public var rawValue: UInt32

    @inlinable public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The timestamp a number of frames later (earlier when negative).
    @inlinable public func advanced(byFrames frames: Int64) -> RTPTimestamp {
        RTPTimestamp(rawValue: rawValue &+ UInt32(truncatingIfNeeded: frames))
    }

    /// Frames from this timestamp to the other; negative when the other is earlier.
    @inlinable public func distance(to other: RTPTimestamp) -> Int32 {
        Int32(bitPattern: other.rawValue &- rawValue)
    }

    /// Frames from this timestamp to the other, however often the circle has been gone round since: of all that it could be,
    /// the one nearest to `expected`, which must be known to less than half a circle.
    @inlinable package func distance(to other: RTPTimestamp, near expected: Int64) -> Int64 {
        expected &+ Int64(advanced(byFrames: expected).distance(to: other))
    }
}
