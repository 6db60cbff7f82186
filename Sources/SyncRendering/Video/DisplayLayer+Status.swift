internal import MediaCore

/// How a picture lies in a window of another shape.
public enum VideoGravity: String, Sendable {
    /// As large as fits, in its true shape, with bars.
    case resizeAspect
    /// Fills the window in its true shape; what lies outside is not seen.
    case resizeAspectFill
    /// Stretched to the window's shape.
    case resize
}

extension DisplayLayer {
    /// How its pictures lie in the window. `resizeAspect` at first. Any thread.
    public var videoGravity: VideoGravity {
        get { state.withLock { $0.gravity } }
        set {
            state.withLock { $0.gravity = newValue }
            arrival.raise()
        }
    }

    /// What has become of it. A failure ends with a flush. Any thread.
    public var status: RenderingStatus {
        state.withLock { $0.failure != nil ? .failed : $0.enqueueCount > 0 ? .rendering : .unknown }
    }

    /// Why `status` is `failed`: a `MediaError` or `RenderError`, with a sentence that says what to do; nil otherwise. Any
    /// thread.
    public var error: (any Error)? { state.withLock { $0.failure } }

    /// Nothing more is shown until a flush; a start does not wait for it.
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

    /// How often the picture on screen was to go.
    var removals: UInt64 { state.withLock { $0.removals } }

    // MARK: For the decoder

    var hasRoomForPictures: Bool { state.withLock { $0.queue.count < $0.depth } }

    /// The decoder has taken a buffer.
    func offerRoom() {
        let hasRoom = state.withLock { state -> Bool in
            let hasRoom = state.wasFull && isReady(state)
            if hasRoom { state.wasFull = false }
            return hasRoom
        }
        if hasRoom { demand.offer() }
    }

    /// Everything that was enqueued is out of the decoder.
    func decoderIsDone() {
        let synchronizer = state.withLock { $0.synchronizer }
        arrival.raise()
        synchronizer?.reconsiderStart()
    }
}
