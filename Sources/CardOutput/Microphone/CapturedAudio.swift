package import MediaCore

/// Recorded audio with its capture times.
package struct CapturedAudio: Sendable {
    /// A capture time: frame `frame` was captured at `instant`, as reported by the driver.
    package struct Anchor: Sendable, Equatable {
        /// The index of a frame, from the start of the recording.
        package var frame: Int64
        /// The instant at which this frame was captured.
        package var instant: HostInstant

        init(frame: Int64, instant: HostInstant) {
            self.frame = frame
            self.instant = instant
        }
    }

    /// Frames per second.
    package var sampleRate: Int
    /// One array per channel, all of equal length; full scale is 1.
    package var channels: [[Float]]
    /// Capture times in ascending order, about one per read.
    package var anchors: [Anchor]
    /// The number of overruns; audio is missing after each.
    var overruns: Int
}
