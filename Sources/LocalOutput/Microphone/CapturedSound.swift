public import MediaCore

/// What a microphone heard, and when.
public struct CapturedSound: Sendable {
    /// Frame `frame` was heard at `instant`, by the driver's word.
    public struct Anchor: Sendable, Equatable {
        public var frame: Int64
        public var instant: HostInstant

        package init(frame: Int64, instant: HostInstant) {
            self.frame = frame
            self.instant = instant
        }
    }

    /// Frames a second.
    public var sampleRate: Int
    /// One array a channel, all of one length; full scale is 1.
    public var channels: [[Float]]
    public var anchors: [Anchor]
    /// How often the device was read too late, so that sound is missing from there on.
    public var overruns: Int
}
