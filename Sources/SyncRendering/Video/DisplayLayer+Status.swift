internal import MediaCore

/// How video is scaled to a window of another aspect ratio.
public enum VideoGravity: String, Sendable {
    /// As large as fits with the aspect ratio preserved, with bars.
    case resizeAspect = "resizeAspect"
    /// Fills the window with the aspect ratio preserved; the excess is cropped.
    case resizeAspectFill = "resizeAspectFill"
    /// Stretched to the window.
    case resize = "resize"
}

extension DisplayLayer {
    /// The scaling of the video. Initially `resizeAspect`. Any thread.
    public var videoGravity: VideoGravity {
        get { state.withLock { $0.gravity } }
        set {
            state.withLock { $0.gravity = newValue }
            arrival.raise()
        }
    }

    /// The rendering status. A failure is reset by a flush. Any thread.
    public var status: RenderingStatus {
        state.withLock { $0.failure != nil ? .failed : $0.enqueueCount > 0 ? .rendering : .unknown }
    }

    /// The reason for `failed`: a `MediaError` or `RenderError` with a message that includes the remedy; nil otherwise.
    /// Any thread.
    public var error: (any Error)? { state.withLock { $0.failure } }

    /// Records a failure, after which no frame is accepted until a flush; a start does not wait for the layer.
    func fail(with error: any Error) {
        let (synchronizer, isFirst) = state.withLock { state in
            defer { state.failure = state.failure ?? error }
            return (state.synchronizer, state.failure == nil)
        }
        guard isFirst else { return }
        Complaint.write("DisplayLayer: \(error)")
        arrival.raise()
        synchronizer?.reconsiderStart()
    }

    /// How often the removal of the displayed video frame was requested.
    var removals: UInt64 { state.withLock { $0.removals } }

    // MARK: Screen

    /// Whether a screen takes the frames, or will. Any thread.
    package var hasScreen: Bool { state.withLock { $0.screens > 0 } }

    /// Records that a screen shows this layer or was asked to, until `removeScreen`. Any thread.
    package func addScreen() { state.withLock { $0.screens += 1 } }

    /// Records that a screen no longer shows this layer; a start does not wait for it any more. Any thread.
    package func removeScreen() {
        let synchronizer = state.withLock { state in
            state.screens -= 1
            return state.synchronizer
        }
        synchronizer?.reconsiderStart()
    }

    /// Notes that the frame that was taken is visible. The presenter's thread.
    func markPresented() {
        let synchronizer = state.withLock { state -> RenderSynchronizer? in
            // A flush may have come since the frame was taken.
            guard state.hasShown, !state.isPresented else { return nil }
            state.isPresented = true
            return state.synchronizer
        }
        synchronizer?.reconsiderStart()
    }

    // MARK: Decoder

    /// The timeline of the layer and the log for its events; nil without a synchronizer.
    var timeline: (timebase: Timebase?, events: EventLog?) {
        let synchronizer = state.withLock { $0.synchronizer }
        return (synchronizer?.timebase, synchronizer?.events)
    }

    var hasSpaceForFrames: Bool { state.withLock { $0.queue.count < $0.depth } }

    /// Requests more media after the decoder has taken a buffer.
    func offerRoom() {
        if state.withLock(clearWasFull) { demand.offer() }
    }

    /// Wakes the screen and a pending start after the decoder has drained.
    func decoderIsDone() {
        let synchronizer = state.withLock { $0.synchronizer }
        arrival.raise()
        synchronizer?.reconsiderStart()
    }
}
