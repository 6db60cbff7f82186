public import MediaCore

extension DisplayLayer: QueuedSampleBufferRendering, SampleBufferConsumer {
    /// Wakes the screen, because the due time of the next video frame has changed. Any thread.
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) { arrival.raise() }
    /// 20 ms: a screen needs about one refresh to prepare the first video frame, which happens while the timeline is
    /// stopped.
    public var startLead: Duration { .milliseconds(20) }
    /// Zero: a stop needs no lead.
    public var stopLead: Duration { .zero }

    // MARK: Requests

    /// The number of buffers enqueued since creation. Any thread.
    var enqueueCount: Int { state.withLock { $0.enqueueCount } }

    /// Returns an error if the layer does not accept the buffer.
    func refusal(of buffer: SampleBuffer) -> RenderError? {
        switch buffer.payload {
        case .videoFrame: break
        case .encodedVideo where decoding != nil: return nil
        case .encodedVideo(let format, _):
            return RenderError(
                .noCodecs,
                "this layer has no decoder for \(format.parameters.codec); create it with DisplayLayer() of MediaCodecs, "
                    + "or decode the video first")
        case .encodedAudio, .pcm:
            return RenderError(.wrongMedia, "a layer shows video; enqueue audio in an AudioRenderer")
        case .encodedSubtitle, .subtitle:
            return RenderError(.wrongMedia, "a layer shows video; enqueue subtitles in a SubtitleRenderer")
        }
        if buffer.presentationTime != nil { return nil }
        return RenderError(.missingTime, "a video frame without a presentation time cannot be shown; set one")
    }

    /// Calls `body` on `queue` whenever the layer has space, as `AudioRenderer` does for audio.
    public func requestMediaDataWhenReady(
        on queue: any MediaRequestQueue, using body: sending @escaping () -> Void
    ) {
        state.withLock { $0.isEnding = false }
        demand.request(from: MediaDataRequest(on: queue, for: self, body: body))
    }

    /// Raises `signal` whenever the layer may have space, for a supplier thread that reads and decodes. Replaces any
    /// other supplier.
    package func requestMediaData(raising signal: Signal) {
        state.withLock { $0.isEnding = false }
        demand.request(raising: signal)
    }

    /// Stops the requests; callable inside and outside the closure. Enqueued frames are shown and suffice for a start.
    /// The caller may enqueue or request more later.
    public func stopRequestingMediaData() {
        demand.stop()
        end { $0.isEnding = true }
    }

    /// Returns the producing end for Swift concurrency. Replaces any other supplier.
    public func sampleBufferReceiver() -> sending SampleBufferReceiver { SampleBufferReceiver(self) }

    /// Whether a start need not wait for video. Any thread.
    ///
    /// True with the first frame, which is shown while the timeline is stopped, and if no frame will follow. Also true
    /// after a failure, so that playback is not blocked.
    public var hasSufficientMediaDataForReliablePlaybackStart: Bool {
        state.withLock { state in
            if !state.queue.isEmpty || state.shownTime != nil || state.failure != nil { return true }
            return (state.finished || state.isEnding) && !(decoding?.packets.isBusy ?? false)
        }
    }

    /// The wait for the first video frame; nil if a start need not wait. Any thread.
    ///
    /// With a screen, a start waits until that frame is visible: opening a window can take longer than the first
    /// frames last, or than a whole still image.
    public var startWait: OutputWait? {
        hasSufficientMediaDataForReliablePlaybackStart && !isAwaitingScreen
            ? nil : OutputWait(.video, of: "the picture")
    }

    /// Whether the first frame since the last flush is available and its screen has not presented it yet. Any thread.
    package var isAwaitingScreen: Bool {
        state.withLock { state in
            state.screens > 0 && !state.isPresented && state.failure == nil
                && (state.hasShown || !state.queue.isEmpty)
        }
    }

    // MARK: Synchronizer

    /// Attaches the layer to a synchronizer.
    ///
    /// - Throws: `alreadyAdded` if it belongs to one.
    public func join(_ synchronizer: RenderSynchronizer) throws(RenderError) {
        let isFree = state.withLock { state -> Bool in
            guard !state.isJoined else { return false }
            state.isJoined = true
            state.synchronizer = synchronizer
            return true
        }
        guard isFree else {
            throw RenderError(.alreadyAdded, "this layer has a synchronizer; remove it there first")
        }
    }

    /// Detaches the layer from its synchronizer and drops its queue; completes at once.
    public func detach(completion: @escaping @Sendable () -> Void) {
        state.withLock {
            $0.isJoined = false
            $0.synchronizer = nil
        }
        flush()
        completion()
    }
}

extension RenderSynchronizer {
    /// Adds a layer and returns its producing end for Swift concurrency.
    public func sampleBufferReceiver(adding layer: DisplayLayer) throws(RenderError) -> sending SampleBufferReceiver {
        if let refusal = addRenderer(layer) { throw refusal }
        return layer.sampleBufferReceiver()
    }
}
