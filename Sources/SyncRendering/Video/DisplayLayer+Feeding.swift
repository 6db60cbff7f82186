public import MediaCore

extension DisplayLayer: QueuedSampleBufferRendering, SampleBufferConsumer {
    /// Wakes the screen: what was far away may be due now.
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) { arrival.raise() }
    /// A screen needs a refresh or so to have the first picture ready; it is prepared while time stands still.
    public var startLead: Duration { .milliseconds(20) }
    public var stopLead: Duration { .zero }

    // MARK: Requests

    var enqueueCount: Int { state.withLock { $0.enqueueCount } }

    func refusal(of buffer: SampleBuffer) -> RenderError? {
        switch buffer.payload {
        case .picture: break
        case .encodedVideo where decoding != nil: return nil
        case .encodedVideo(let format, _):
            return RenderError(
                .noCodecs,
                "this layer has nothing to decode \(format.parameters.codec) with; make it with DisplayLayer() of MediaCodecs, "
                    + "or decode the pictures first")
        case .encodedAudio, .pcm:
            return RenderError(.wrongMedia, "a layer shows pictures; enqueue sound at an AudioRenderer")
        case .encodedSubtitle, .subtitle:
            return RenderError(.wrongMedia, "a layer shows pictures; enqueue subtitles at a SubtitleRenderer")
        }
        if buffer.presentationTime != nil { return nil }
        return RenderError(.missingTime, "a picture without a time cannot be shown; say when it is to be seen")
    }

    /// Calls `body` on `queue` whenever the layer has room, as `AudioRenderer` does for sound.
    public func requestMediaDataWhenReady(
        on queue: any MediaRequestQueue, using body: sending @escaping () -> Void
    ) {
        state.withLock { $0.isEnding = false }
        demand.request(from: MediaDataRequest(on: queue, for: self, body: body))
    }

    /// For a supplier that is a thread of its own, because it reads and decodes: raises `signal` whenever the layer may have
    /// room. Replaces any other supplier.
    package func requestMediaData(raising signal: Signal) {
        state.withLock { $0.isEnding = false }
        demand.request(raising: signal)
    }

    /// Ends the requests; from inside the closure or outside. What was enqueued is shown and counts as sufficient for a
    /// start. More may be enqueued, or requested, later.
    public func stopRequestingMediaData() {
        demand.stop()
        end { $0.isEnding = true }
    }

    /// The producing end for Swift concurrency. Whoever supplied the layer before is superseded.
    public func sampleBufferReceiver() -> sending SampleBufferReceiver { SampleBufferReceiver(self) }

    /// True with the first picture, which is shown and held while time stands still, or when none is to come. Also true after a
    /// failure: a film is not held up by pictures that cannot come.
    public var hasSufficientMediaDataForReliablePlaybackStart: Bool {
        state.withLock { state in
            if !state.queue.isEmpty || state.shownTime != nil || state.failure != nil { return true }
            return (state.finished || state.isEnding) && !(decoding?.isBusy ?? false)
        }
    }

    public var startWait: OutputWait? {
        hasSufficientMediaDataForReliablePlaybackStart ? nil : OutputWait(.picture, of: "the picture")
    }

    // MARK: Synchronizer

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

    public func leave(completion: @escaping @Sendable () -> Void) {
        state.withLock {
            $0.isJoined = false
            $0.synchronizer = nil
        }
        flush()
        completion()
    }
}
