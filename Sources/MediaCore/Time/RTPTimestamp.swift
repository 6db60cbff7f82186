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
}
