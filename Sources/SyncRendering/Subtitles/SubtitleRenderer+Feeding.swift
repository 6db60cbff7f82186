public import MediaCore

extension SubtitleRenderer: QueuedSampleBufferRendering, MediaDataConsumer {
    /// Wakes the thread: a changed timeline changes what is due. Any thread.
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) { wake.raise() }
    /// Zero: subtitles need no lead.
    public var startLead: Duration { .zero }
    /// Zero: subtitles need no lead.
    public var stopLead: Duration { .zero }

    /// Always true: a start does not wait for subtitles.
    public var hasSufficientMediaDataForReliablePlaybackStart: Bool { true }

    // MARK: Feeding

    /// The number of buffers enqueued since creation. Any thread.
    var enqueueCount: Int { state.withLock { $0.enqueueCount } }

    /// Whether the known range extends less than ten seconds beyond the playhead. A source reports its position with
    /// buffers without packets (`encodedSubtitle`). Any thread.
    public var isReadyForMoreMediaData: Bool {
        if demand.isStopping { return false }
        let (hasRoom, isFirstRefusal) = withSynchronizer { state in
            let hasRoom = state.hasRoom(below: Self.readsAhead)
            defer { if !hasRoom { state.wasFull = true } }
            return (hasRoom, !hasRoom && !state.wasFull)
        }
        // The thread reports space later. It may be waiting without a deadline or not running, if the source has not
        // yet found a cue.
        if isFirstRefusal {
            startThread()
            wake.raise()
        }
        return hasRoom
    }

    /// Enqueues an encoded subtitle or a decoded cue. Buffers without a time are ignored. Audio and video set `error`
    /// until a flush.
    public func enqueue(_ buffer: SampleBuffer) {
        switch buffer.payload {
        case .subtitle, .encodedSubtitle: break
        case .encodedAudio, .encodedVideo, .pcm, .videoFrame:
            let error = RenderError(
                .wrongMedia, "this renderer accepts subtitles; enqueue audio and video in their renderers")
            Complaint.write("SubtitleRenderer: \(error)")
            return state.withLock { $0.failure = $0.failure ?? error }
        }
        guard let time = buffer.presentationTime else { return }
        state.withLock { state in
            state.enqueueCount &+= 1
            state.knownUntil = max(state.knownUntil ?? time, time)
            if !buffer.isPace { state.waiting.append(.init(buffer: buffer, from: state.begin)) }
        }
        startThread()
        wake.raise()
    }

    /// Signals the end of input: no more is requested until a flush.
    public func finish() {
        state.withLock { $0.knownUntil = MediaTime(value: .max, timescale: 1) }
    }

    /// Discards all cues; none are shown until new ones arrive. Any thread.
    public func flush() {
        state.withLock { state in
            state.waiting.removeAll(keepingCapacity: true)
            state.begin = nil
            state.store.removeAll()
            (state.knownUntil, state.last, state.failure) = (nil, nil, nil)
            (state.isFlushed, state.wasFull, state.isFloodKnown) = (true, false, false)
            state.forgetDrawn()
        }
        demand.notifyFlush()
        wake.raise()
        layer?.arrival.raise()
    }

    /// Removes cues that start at a media time or later, and ends those shown then. Synchronous; any thread.
    public func flush(fromSourceTime time: MediaTime) {
        state.withLock { state in
            state.waiting.removeAll { $0.buffer.presentationTime.map { $0 >= time } ?? true }
            for index in state.waiting.indices { state.waiting[index].cut(at: time) }
            state.decoding?.cut(at: time)
            state.begin = time
            state.store.cut(at: time)
            state.knownUntil = state.knownUntil.map { min($0, time) }
            state.forgetDrawn(from: time + state.delay)
        }
        offerRoom()
        wake.raise()
        layer?.arrival.raise()
    }

    /// Calls `body` on a queue whenever there is space. Replaces any other supplier.
    public func requestMediaDataWhenReady(
        on queue: any MediaRequestQueue, using body: sending @escaping () -> Void
    ) {
        demand.request(from: MediaDataRequest(on: queue, for: self, body: body))
    }

    /// Raises `signal` whenever there may be space, for a supplier thread. Replaces any other supplier.
    package func requestMediaData(raising signal: Signal) { demand.request(raising: signal) }

    /// Stops the requests; enqueued subtitles remain.
    public func stopRequestingMediaData() { demand.stop() }

    /// Requests more if a caller found the queue full and it has mostly drained.
    func offerRoom() {
        let hasRoom = withSynchronizer { state -> Bool in
            guard state.wasFull, state.hasRoom(below: Self.asksAgain) else { return false }
            state.wasFull = false
            return true
        }
        if hasRoom { demand.offer() }
    }

    // MARK: Synchronizer

    /// Attaches the renderer to a synchronizer.
    ///
    /// - Throws: `alreadyAdded` if it belongs to one.
    public func join(_ synchronizer: RenderSynchronizer) throws(RenderError) {
        let isFree = state.withLock { state -> Bool in
            guard !state.isJoined else { return false }
            (state.isJoined, state.synchronizer) = (true, synchronizer)
            return true
        }
        guard isFree else {
            throw RenderError(.alreadyAdded, "this renderer has a synchronizer; remove it there first")
        }
        prod()
    }

    /// Detaches the renderer from its synchronizer and discards all cues; completes at once.
    public func detach(completion: @escaping @Sendable () -> Void) {
        state.withLock { ($0.isJoined, $0.synchronizer) = (false, nil) }
        flush()
        completion()
    }
}

extension SubtitleRenderer.State {
    fileprivate func hasRoom(below ahead: MediaTime) -> Bool {
        guard failure == nil, waiting.count < SubtitleRenderer.maxWaiting else { return false }
        guard let knownUntil else { return true }
        // With a negative delay cues are due earlier than the media time at which they are read.
        return knownUntil - (synchronizer?.currentTime() ?? .zero) + min(delay, .zero) < ahead
    }
}

extension SampleBuffer {
    /// Whether the buffer only reports the position of the source.
    fileprivate var isPace: Bool {
        if case .encodedSubtitle(_, let batch) = payload { return batch.packets.isEmpty }
        return false
    }
}
