public import MediaCore

extension AudioRenderer: QueuedSampleBufferRendering, SampleBufferConsumer {
    /// Buffers that may wait at most, whatever their length: a source of endless tiny buffers is held back.
    private static let mostBuffers = 4096

    /// True while the route wants to be filled further: it asks for its `desiredDepth` of film ahead of the playhead,
    /// which is a second for a sound card and minutes for a buffered speaker, and changes with the route. The end of
    /// short material makes no difference: once it has been heard, more may follow. False inside a closure that has stopped
    /// its requests, until it returns. Any thread.
    public var isReadyForMoreMediaData: Bool {
        if demand.isStopping { return false }
        return state.withLock { state in
            let ready = isReady(state)
            // Whoever saw that there is no room is told when there is.
            if !ready { state.wasFull = true }
            return ready
        }
    }

    func isReady(_ state: State) -> Bool {
        guard !state.isCutting, state.partialFlushes.isEmpty else { return false }
        guard let until = state.enqueuedUntil else { return true }
        // Before the playhead reaches the first sound, depth counts from that sound.
        let playhead = max(state.master.currentTime, state.firstEnqueued ?? .zero)
        let depth = state.output?.desiredDepth ?? .seconds(1)
        return (until - playhead).duration < depth && state.queue.count < Self.mostBuffers
    }

    var enqueueCount: Int { state.withLock { $0.enqueueCount } }

    func refusal(of buffer: SampleBuffer) -> RenderError? {
        switch buffer.payload {
        case .encodedAudio, .pcm: nil
        case .encodedVideo, .picture, .encodedSubtitle, .subtitle:
            RenderError(.wrongMedia, "this renderer plays sound; enqueue pictures at a DisplayLayer")
        }
    }

    /// Adds sound after what is already there. Accepted even when the renderer is not ready for more, and after
    /// `stopRequestingMediaData`. Allocates nothing while what waits stays as long as it was.
    ///
    /// A buffer without a time follows on from the one before; the first of all is taken to be due at the present film
    /// time. A buffer whose time lies before the end of the last is placed where its time says: what overlaps is heard
    /// once, what lies before the playhead not at all (`Progress.lateBuffers` counts those). Buffers without sound are ignored.
    ///
    /// Pictures make `status` failed, and `error` says so.
    public func enqueue(_ buffer: SampleBuffer) {
        if let refusal = refusal(of: buffer) {
            if error == nil { Complaint.write("AudioRenderer: \(refusal)") }
            return fail(with: refusal)
        }
        let isFirstDropped = state.withLock { state in
            guard !state.stopping, !append(buffer, &state), !state.hasReportedDrop else { return false }
            state.hasReportedDrop = true
            return true
        }
        if isFirstDropped {
            Complaint.write(
                "AudioRenderer: sound before the playhead is dropped; after a jump, enqueue from its film time on")
        }
        wake.raise()
    }

    /// Adds a buffer to the queue.
    ///
    /// - Returns: false where it was dropped: while film time stands still, an output gives up no sound, and one that is full of sound
    ///   before the playhead would never take any after it.
    @discardableResult
    func append(_ buffer: SampleBuffer, _ state: inout State) -> Bool {
        var buffer = buffer
        let start = buffer.presentationTime ?? state.enqueuedUntil ?? state.master.currentTime
        buffer.presentationTime = start
        state.enqueueCount &+= 1
        state.finished = false
        state.status.isDrained = false
        let end = start + buffer.soundDuration
        state.enqueuedUntil = end
        if !buffer.flags.contains(.decodeOnly), end < state.timebase.currentTime {
            state.status.lateBuffers += 1
            if state.timebase.snapshot.upcoming.rate == 0 {
                state.followsDrop = true
                return false
            }
        }
        if state.followsDrop {
            state.followsDrop = false
            buffer.flags.insert(.discontinuity)
        }
        if state.firstEnqueued == nil { state.firstEnqueued = start }
        state.queue.append(buffer)
        if !isReady(state) { state.wasFull = true }
        return true
    }

    /// No more sound follows for now: what is enqueued plays out.
    public func finish() {
        state.withLock { $0.finished = true }
        wake.raise()
    }

    // MARK: Requests

    /// Calls `body` on `queue` whenever the route wants more, for as long as it does: `body` enqueues until
    /// `isReadyForMoreMediaData` is false, or as much as it has.
    ///
    /// One call at a time. A call that enqueues nothing although there is room is repeated after 20 ms. Called again,
    /// this replaces the closure; it ends with `stopRequestingMediaData` or with the renderer.
    ///
    /// - Parameter body: sent to the queue with what it captures, which may therefore be something that is not `Sendable`
    ///   and that nobody else uses.
    public func requestMediaDataWhenReady(
        on queue: any MediaRequestQueue, using body: sending @escaping () -> Void
    ) {
        state.withLock { $0.isEnding = false }
        demand.request(from: MediaDataRequest(on: queue, for: self, body: body))
    }

    /// For a supplier that is a thread of its own, because it reads and blocks: raises `signal` whenever the route may want
    /// more. Replaces any other supplier.
    package func requestMediaData(raising signal: Signal) {
        state.withLock { $0.isEnding = false }
        demand.request(raising: signal)
    }

    /// Ends the requests; from inside the closure or outside. What was enqueued plays to its end and counts as
    /// sufficient for a start. More may be enqueued, or requested, later.
    public func stopRequestingMediaData() {
        demand.stop()
        state.withLock { $0.isEnding = true }
        wake.raise()
    }

    /// The producing end for Swift concurrency. Whoever supplied the renderer before is superseded.
    public func sampleBufferReceiver() -> sending SampleBufferReceiver { SampleBufferReceiver(self) }

    // MARK: Starting

    /// True when the output has taken as much as it needs before a start, or all there is, or when there is no sound to
    /// wait for: no output, or one that failed. Any thread.
    public var hasSufficientMediaDataForReliablePlaybackStart: Bool { startWait == nil }

    public var startWait: OutputWait? {
        let (output, id, status, playhead, isLast, isEmpty) = state.withLock { state in
            (
                state.output, state.outputID, state.status, state.master.currentTime,
                (state.isEnding || state.finished) && state.queue.isEmpty, state.enqueuedUntil == nil
            )
        }
        guard let output, !status.hasFailed, !(isLast && isEmpty) else { return nil }
        // However little there is of it: it is placed when the output knows its delay.
        if status.isDrained, status.acceptedUntil == nil || output.isReadyToStart { return nil }
        // An output is opened for the first sound.
        if isEmpty { return OutputWait(.sound, of: output.name, id: id) }
        var wait = output.wait
        wait?.id = id
        guard output.isReadyToStart else { return wait ?? OutputWait(.ownDelay, of: output.name, id: id) }
        if let until = status.acceptedUntil, isLast || (until - playhead).duration >= output.preroll { return nil }
        // A speaker that learns the clock takes sound meanwhile: its clock is what people want to know of.
        return wait ?? OutputWait(.sound, of: output.name, id: id)
    }

    public var earliestStart: HostInstant? { state.withLock { $0.output }?.earliestStart }

    /// When the playhead will have come so far that more is wanted, or that the end of what was enqueued is near: it moves
    /// without telling anybody.
    var nextNeed: HostInstant? {
        state.withLock { state in
            let snapshot = state.master.snapshot
            let now = state.master.clock.now
            let segment = snapshot.segment(at: now)
            var due: HostInstant?
            if let next = snapshot.scheduled, next.hostAnchor > now { due = next.hostAnchor }
            guard segment.rate > 0, let until = state.enqueuedUntil else { return due }
            func note(_ moment: MediaTime) {
                guard let instant = segment.hostInstant(of: moment) else { return }
                // A little later, so that what is compared then has passed for certain. Whatever is wanting after that, a
                // signal tells.
                let later = instant.advanced(by: .milliseconds(1))
                if later > now { due = min(due ?? later, later) }
            }
            if state.wasFull { note(until.advanced(by: .zero - (state.output?.desiredDepth ?? .seconds(1)))) }
            if state.isEnding, state.queue.isEmpty, !state.status.isDrained {
                note((state.status.acceptedUntil ?? until).advanced(by: .zero - AudioFeeder.lastMoment))
            }
            return due
        }
    }

    // MARK: Synchronizer

    public func join(_ synchronizer: RenderSynchronizer) throws(RenderError) {
        let refusal = state.withLock { state -> RenderError? in
            if state.stopping {
                return RenderError(.invalidated, "this renderer was invalidated; make another")
            }
            if state.isJoined {
                return RenderError(.alreadyAdded, "this renderer has a synchronizer; remove it there first")
            }
            let delay = state.timebase.delay
            state.master = synchronizer.timebase
            state.timebase = Timebase(following: synchronizer.timebase)
            state.timebase.delay = delay
            state.synchronizer = synchronizer
            state.isJoined = true
            state.outputChanged = true
            // A device takes up to a second to open: it need not be the second that begins with the first sound.
            state.output?.open()
            return nil
        }
        if let refusal { throw refusal }
        // Time that is turned by hand turns the feeder, too.
        do throws(ExhaustionError) {
            if synchronizer.runsByItself { try startFeeder() }
        } catch {
            leave {}
            retire()
            state.withLock { $0.output }?.close()
            let refusal = RenderError(.exhausted, "this sound cannot be rendered: \(error.message)")
            fail(with: refusal)
            throw refusal
        }
        if isReadyForMoreMediaData { demand.offer() }
    }

    public func leave(completion: @escaping @Sendable () -> Void) {
        state.withLock { state in
            flush(&state)
            state.flushRequested = false
            state.master = Timebase(clock: state.master.clock)
            state.timebase = Timebase(following: state.master)
            state.synchronizer = nil
            state.isJoined = false
            state.life += 1
            state.onRetired.append(completion)
        }
        // Nothing is wanted until another synchronizer takes it on.
        demand.noteFlush(asks: false)
        wake.raise()
    }

    /// Gives the synchronizer an occasion to do what is due; when it wants the next one although nothing moved.
    func attend() -> HostInstant? {
        guard let synchronizer = state.withLock({ $0.synchronizer }) else { return nil }
        synchronizer.attend()
        return synchronizer.nextAttention
    }

    /// Whether a feeder still belongs to the present use; the last thing a feeder does is `retire`.
    func isServed(by life: UInt64) -> Bool { state.withLock { !$0.stopping && $0.life == life } }

    func retire() {
        let waiting = state.withLock { state in
            defer { state.onRetired.removeAll() }
            return state.onRetired
        }
        for completion in waiting { completion() }
    }
}

extension SampleBuffer {
    /// How long the sound lasts; decoded sound knows it even where the buffer does not say.
    var soundDuration: MediaTime {
        if duration == .zero, case .pcm(let block) = payload { return block.end - block.start }
        return duration
    }

    /// Film time just after the last sample.
    var soundEnd: MediaTime? { presentationTime.map { $0 + soundDuration } }
}
