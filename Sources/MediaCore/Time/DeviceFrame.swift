/// A frame position of one sound card, counted since its stream was opened. Does not wrap in practice.
public struct DeviceFrame: Comparable, Hashable, Sendable, BitwiseCopyable {
    /// The number of frames since the stream was opened.
    public var index: Int64

    /// Creates a position.
    @inlinable public init(_ index: Int64) { self.index = index }

    /// Compares positions.
    @inlinable public static func < (left: DeviceFrame, right: DeviceFrame) -> Bool { left.index < right.index }

    /// Returns the position a number of frames later; clamped to 64 bits.
    @inlinable public func advanced(byFrames frames: Int64) -> DeviceFrame {
        DeviceFrame(index.addingClamped(frames))
    }

    /// Returns the frames from this position to another; clamped to 64 bits.
    @inlinable public func distance(to other: DeviceFrame) -> Int64 { other.index.subtractingClamped(index) }
}
