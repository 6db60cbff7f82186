internal import MediaCore

/// The destination of a virtual device's frames. Called by the playout thread only; never blocks on playback.
protocol PlayoutSink: AnyObject, Sendable {
    /// Writes interleaved stereo samples from frame `frame` of the device.
    func write(_ samples: ArraySlice<Float>, at frame: DeviceFrame)
    /// Replaces frames already written by silence.
    func silence(from first: DeviceFrame, until end: DeviceFrame)
    /// Completes the output after `frames` frames; frame 0 was due at `origin`. Further writes are still permitted.
    func finish(frames: DeviceFrame, origin: HostInstant)
}
