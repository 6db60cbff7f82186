public import MediaCore

extension SubtitleRenderer: QueuedSampleBufferRendering, MediaDataConsumer {
    /// A new line is another time to draw for.
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) { wake.raise() }
    public var startLead: Duration { .zero }
    public var stopLead: Duration { .zero }

    /// Always: nobody waits for words.
    public var hasSufficientMediaDataForReliablePlaybackStart: Bool { true }

    // MARK: Feeding

    var enqueueCount: Int { state.withLock { $0.enqueueCount } }

    /// True until what is known reaches ten seconds beyond the playhead. A source of subtitles says with buffers that hold none
    /// (`encodedSubtitle` without packets) how far it has looked.
    public var isReadyForMoreMediaData: Bool {
        if demand.isStopping { return false }
        let (hasRoom, isFirstRefusal) = state.withLock { state in
            let hasRoom = state.hasRoom(below: Self.readsAhead)
            defer { if !hasRoom { state.wasFull = true } }
            return (hasRoom, !hasRoom && !state.wasFull)
        }
        // The thread asks again. It may rest without a deadline, or not run yet: a supplier may have found no line so far.
        if isFirstRefusal {
            startThread()
            wake.raise()
        }
        return hasRoom
    }

    /// Adds an encoded subtitle, or a decoded cue. What has no time is ignored; sound and pictures make `error` say so until a
    /// flush.
    public func enqueue(_ buffer: SampleBuffer) {
        switch buffer.payload {
        case .subtitle, .encodedSubtitle: break
        case .encodedAudio, .encodedVideo, .pcm, .picture:
            let error = RenderError(.wrongMedia, "this renderer takes subtitles; enqueue sound and pictures at theirs")
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

    /// Nothing more follows: nobody is asked for more until a flush.
    public func finish() {
        state.withLock { $0.knownUntil = MediaTime(value: .max, timescale: 1) }
    }

    /// Forgets everything; nothing is seen until new ones come.
    public func flush() {
        state.withLock { state in
            state.waiting.removeAll(keepingCapacity: true)
            state.begin = nil
            state.store.removeAll()
            (state.knownUntil, state.last, state.failure) = (nil, nil, nil)
            (state.isFlushed, state.wasFull, state.isFloodKnown) = (true, false, false)
            state.forgetDrawn()
        }
        demand.noteFlush()
        wake.raise()
        layer?.arrival.raise()
    }

    /// Takes back what begins at a film time or later; what is seen there ends. Any thread, happens before it returns.
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

    public func requestMediaDataWhenReady(
        on queue: any MediaRequestQueue, using body: sending @escaping () -> Void
    ) {
        demand.request(from: MediaDataRequest(on: queue, for: self, body: body))
    }

    /// For a supplier that is a thread of its own: raises `signal` whenever there may be room. Replaces any other supplier.
    package func requestMediaData(raising signal: Signal) { demand.request(raising: signal) }

    public func stopRequestingMediaData() { demand.stop() }

    /// Asks for more where somebody was told that there is no room, and there is much of it again.
    func offerRoom() {
        let hasRoom = state.withLock { state -> Bool in
            guard state.wasFull, state.hasRoom(below: Self.asksAgain) else { return false }
            state.wasFull = false
            return true
        }
        if hasRoom { demand.offer() }
    }

    // MARK: Synchronizer

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

    public func leave(completion: @escaping @Sendable () -> Void) {
        state.withLock { ($0.isJoined, $0.synchronizer) = (false, nil) }
        flush()
        completion()
    }
}

extension SubtitleRenderer.State {
    fileprivate func hasRoom(below ahead: MediaTime) -> Bool {
        guard failure == nil, waiting.count < SubtitleRenderer.mostWaiting else { return false }
        guard let knownUntil else { return true }
        return knownUntil - (synchronizer?.currentTime() ?? .zero) < ahead
    }
}

extension SampleBuffer {
    /// Says only how far a source of subtitles has looked.
    fileprivate var isPace: Bool {
        if case .encodedSubtitle(_, let batch) = payload { return batch.packets.isEmpty }
        return false
    }
}
