internal import LocalOutput
internal import MediaCore

/// Where a virtual device's frames go. The playout thread alone calls it; none of its methods waits.
protocol PlayoutSink: AnyObject, Sendable {
    /// Takes interleaved stereo floats that begin at a frame of the device.
    func write(_ samples: ArraySlice<Float>, at frame: DeviceFrame)
    /// Takes frames back that were written and shall not be heard.
    func silence(from first: DeviceFrame, until end: DeviceFrame)
    /// The stream is over after this many frames; frame 0 was due at `origin`. More may follow all the same.
    func finish(frames: DeviceFrame, origin: HostInstant)
}
