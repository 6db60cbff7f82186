public import MediaCore

extension AudioRenderer: QueuedSampleBufferRendering, SampleBufferConsumer, ContentRendering {
    /// Whether the queue holds less media than the route's `desiredDepth` ahead of the playhead. Any thread.
    ///
    /// The depth is a second for a sound card and minutes for a buffered speaker, and changes with the route. The end
    /// of short material does not count: more may follow after it has played. False inside a request closure that has
    /// stopped its requests, until it returns.
    public var isReadyForMoreMediaData: Bool {
        if demand.isStopping { return false }
        // The caller will be notified once there is space.
        return state.withLock { $0.requestReadiness() }
    }

    var enqueueCount: Int { store.level.enqueueCount }

    /// Returns an error if the payload is not audio.
    func refusal(of buffer: SampleBuffer) -> RenderError? {
        switch buffer.payload {
        case .encodedAudio, .pcm: nil
        case .encodedVideo, .videoFrame, .encodedSubtitle, .subtitle:
            RenderError(.wrongMedia, "this renderer plays audio; enqueue video frames in a DisplayLayer")
        }
    }

    /// Appends audio to the queue, even if the renderer is not ready for more and after `stopRequestingMediaData`.
    /// Allocates no memory while the queue's length is stable.
    ///
    /// A buffer without a time follows the preceding one; the first buffer defaults to the current media time. A buffer
    /// that starts before the end of the last one is scheduled by its time: overlapping audio is played once. Audio
    /// before the playhead is dropped and counted in `Progress.lateBuffers`. Buffers without audio are ignored.
    ///
    /// Video or subtitle buffers set `status` to failed and `error` to the reason.
    public func enqueue(_ buffer: SampleBuffer) { enqueue(buffer, reportsDrop: true) }

    /// Appends audio to the queue, as `enqueue(_:)` does.
    ///
    /// - Parameter reportsDrop: Whether dropped audio is reported to the developer. A player's reader delivers audio
    ///   of the old position until its thread has executed a seek.
    package func enqueue(_ buffer: SampleBuffer, reportsDrop: Bool) {
        if let refusal = refusal(of: buffer) {
            if error == nil { Complaint.write("AudioRenderer: \(refusal)") }
            return fail(with: refusal)
        }
        if state.withLock({ $0.enqueue(buffer) }), reportsDrop {
            Complaint.write(
                "AudioRenderer: audio before the playhead is dropped; after a seek, enqueue audio from its media time on"
            )
        }
        wake.raise()
    }

    /// Signals the end of input: enqueued audio plays out.
    public func finish() {
        store.finish()
        wake.raise()
    }

    // MARK: Requests

    /// Calls `body` on `queue` whenever the route wants more audio. `body` enqueues until `isReadyForMoreMediaData` is
    /// false or its data is exhausted.
    ///
    /// Calls do not overlap. A call that enqueues nothing despite available space is repeated after 20 ms. Another call
    /// of this method replaces the closure; `stopRequestingMediaData` or the end of the renderer removes it.
    ///
    /// - Parameter body: Sent to the queue with its captures. These may be non-`Sendable` if they are used nowhere
    ///   else.
    public func requestMediaDataWhenReady(
        on queue: any MediaRequestQueue, using body: sending @escaping () -> Void
    ) {
        store.setEnding(false)
        demand.request(from: MediaDataRequest(on: queue, for: self, body: body))
    }

    /// Raises `signal` whenever the route may want more audio, for a supplier thread that blocks on reads. Replaces any
    /// other supplier.
    package func requestMediaData(raising signal: Signal) {
        store.setEnding(false)
        demand.request(raising: signal)
    }

    /// Stops the requests; callable inside and outside the closure. Enqueued audio plays to its end and suffices for a
    /// start. The caller may enqueue or request more later.
    public func stopRequestingMediaData() {
        demand.stop()
        store.setEnding(true)
        wake.raise()
    }

    /// Returns the producing end for Swift concurrency. Replaces any other supplier.
    public func sampleBufferReceiver() -> sending SampleBufferReceiver { SampleBufferReceiver(self) }

    // MARK: Starting

    /// Whether a start need not wait for audio. Any thread.
    ///
    /// True if the output has its preroll or all available audio, if there is no output, and if the output has failed.
    public var hasSufficientMediaDataForReliablePlaybackStart: Bool { startWait == nil }

    /// The reason why a start has to wait for this renderer; nil if it need not. Any thread.
    public var startWait: OutputWait? {
        let level = store.level
        let (output, id, status, playhead) = state.withLock { state in
            (state.outputs, state.outputID, state.status, state.master.currentTime)
        }
        let (isLast, isEmpty) = ((level.isEnding || level.isFinished) && level.isAllRead, level.enqueuedUntil == nil)
        guard let output, !status.hasFailed, !(isLast && isEmpty) else { return nil }
        // Even short audio is scheduled only after the output knows its delay.
        if status.isDrained, status.acceptedUntil == nil || output.isReadyToStart { return nil }
        // Outputs open when the first audio arrives.
        if isEmpty { return OutputWait(.audio, of: output.name, id: id) }
        var wait = output.wait
        wait?.id = id
        guard output.isReadyToStart else { return wait ?? OutputWait(.ownDelay, of: output.name, id: id) }
        if let until = status.acceptedUntil {
            if isLast || (until - playhead).duration >= output.current.preroll { return nil }
        }
        // A speaker accepts audio while it synchronizes its clock; the clock is then the reason reported to the user.
        return wait ?? OutputWait(.audio, of: output.name, id: id)
    }

    /// See `AudioOutput.earliestStart`. Any thread.
    public var earliestStart: HostInstant? { outputs?.current.earliestStart }

    // MARK: Synchronizer

    /// Attaches the renderer to a synchronizer and starts its feeder.
    ///
    /// - Throws: `invalidated`, `alreadyAdded`, or `exhausted` if no thread is available; the renderer is then detached
    ///   again.
    public func join(_ synchronizer: RenderSynchronizer) throws(RenderError) {
        if let refusal = state.withLock({ $0.join(synchronizer) }) { throw refusal }
        // A device takes up to a second to open: open it before the first audio arrives.
        outputs?.open()
        // With a manually driven clock the test drives the feeder as well.
        do throws(ExhaustionError) {
            if synchronizer.isRealTime { try startFeeder() }
        } catch {
            detach {}
            let outputs = outputs
            outputs?.beginClosing()
            retire(closing: [outputs].compactMap { $0 })
            let refusal = RenderError(.exhausted, "this audio cannot be rendered: \(error.message)")
            fail(with: refusal)
            throw refusal
        }
        if isReadyForMoreMediaData { demand.offer() }
    }

    /// Detaches the renderer from its synchronizer and drops its queue.
    ///
    /// - Parameter completion: Called once the output is closed, on the thread that closed it.
    public func detach(completion: @escaping @Sendable () -> Void) {
        state.withLock { $0.detach(completion: completion) }
        // Nothing is requested until the renderer joins another synchronizer.
        demand.notifyFlush(asks: false)
        wake.raise()
    }

    /// Lets the synchronizer perform due work; returns when it wants the next call.
    func serviceTimeline() -> HostInstant? {
        guard let synchronizer = state.withLock({ $0.synchronizer }) else { return nil }
        synchronizer.serviceTimeline()
        return synchronizer.nextAttention
    }

    /// Calls the completion handlers of `detach` once the outputs are closed.
    func retire(closing outputs: [OutputGroup]) {
        let completions = state.withLock { state in
            state.retired = outputs
            return state.consumeRetired()
        }
        @Sendable func complete(after rest: ArraySlice<OutputGroup>) {
            guard let first = rest.first else { return completions.forEach { $0() } }
            first.whenClosed { complete(after: rest.dropFirst()) }
        }
        complete(after: outputs[...])
    }
}

extension SampleBuffer {
    /// The duration of the audio; a decoded block states it even if the buffer does not.
    var audioDuration: MediaTime {
        if duration == .zero, case .pcm(let block) = payload { return block.end - block.start }
        return duration
    }

    /// The media time at the end of the last sample.
    var audioEnd: MediaTime? { presentationTime.map { $0 + audioDuration } }
}

extension RenderSynchronizer {
    /// Adds a renderer and returns its producing end for Swift concurrency.
    public func sampleBufferReceiver(adding renderer: AudioRenderer) throws(RenderError) -> sending SampleBufferReceiver
    {
        if let refusal = addRenderer(renderer) { throw refusal }
        return renderer.sampleBufferReceiver()
    }
}
