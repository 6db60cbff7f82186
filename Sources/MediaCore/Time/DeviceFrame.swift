/// A sample frame of one sound card, counted since its stream was opened. It does not wrap within a lifetime.
public struct DeviceFrame: Comparable, Hashable, Sendable, BitwiseCopyable {
    public var index: Int64

    @inlinable public init(_ index: Int64) { self.index = index }

    @inlinable public static func < (left: DeviceFrame, right: DeviceFrame) -> Bool { left.index < right.index }

    @inlinable public func advanced(byFrames frames: Int64) -> DeviceFrame {
        DeviceFrame(index.addingClamped(frames))
    }

    @inlinable public func distance(to other: DeviceFrame) -> Int64 { other.index.subtractingClamped(index) }
}
