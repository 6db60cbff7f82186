public import MediaCore

/// Recorded audio with its capture times.
public struct CapturedSound: Sendable {
    /// A capture time: frame `frame` was captured at `instant`, as reported by the driver.
    public struct Anchor: Sendable, Equatable {
        /// The index of a frame, from the start of the recording.
        public var frame: Int64
        /// The instant at which this frame was captured.
        public var instant: HostInstant

        package init(frame: Int64, instant: HostInstant) {
            self.frame = frame
            self.instant = instant
        }
    }

    /// Frames per second.
    public var sampleRate: Int
    /// One array per channel, all of equal length; full scale is 1.
    public var channels: [[Float]]
    /// Capture times in ascending order, about one per read.
    public var anchors: [Anchor]
    /// The number of overruns; audio is missing after each.
    public var overruns: Int
}
